// The control plane: plain C functions that the Python facade reaches by ctypes. Operators are not
// here (torch.ops has those); knobs, counters, support, plans, cache commands and precompilation
// are.
//
//   lib = ctypes.CDLL("_C_extension.abi3.so")
//   lib.dg_query.restype = ctypes.c_void_p          # keep the pointer: dg_free wants it back
//   p = lib.dg_query(b"supports", b"op=fp8_gemm_nt\na=float8_e4m3fn:64x256:256x1\n...")
//   answer = json.loads(ctypes.string_at(p)); lib.dg_free(p)
//
// No function throws. Leaves the operators' schemas to python_api.cpp.
//
// ---- dg_query(what, args) ----
// args: "key=value\n..." lines, UTF-8; a value ends at the line's end. Unknown keys are refused.
// The answer is JSON; a failure is {"error": {"kind": "Unsupported", "message": "..."}}.
//
// Tensor facts, as in a=float8_e4m3fn:4096x2048:2048x1 : dtype:sizes:strides, strides in elements.
// dtype is torch's name without "torch.". A 0-dim tensor has empty sizes. Optional trailing
// ":cpu" or ":cuda:0" gives the device; without it the `device` key does (default cpu).
//
// what, its args (? = optional), its answer:
//
// schemas         []: "fp8_gemm_nt(Tensor a, ...) -> ()", ...
// counters        {"compiles", "disk_hits", "memory_hits", "loads", "compile_ms", "load_ms"}
// counters_reset  the same, as it was before the reset
// supports        op; one tensor per schema argument (a, a_scale, b, b_scale, d, c?, ...) and the
//                 other keys that the operator's family registers (described_<stem>.cpp: gran_m?
//                 gran_n? gran_k_a? gran_k_b? alpha? ...); device? (cpu | cuda) arch? (90a,
//                 x86-64-v3, ...)
//                 {"ok": true, "reason": "", "rule": ""}, or {"ok": false, "reason": five-part
//                 text, "rule": "NAME", "kind": "Unsupported"}
// plan            as supports
//                 {"plan": one line, "kernel": name, "source": text, "request": digest}
// precompile      op; n? k? (lists: 512,7168; any size without both); expr? dtypes? of d; gran_k?
//                 heads? head_dim? block_kv? next_n? (lists), as far as the operator has them;
//                 device? arch? num_threads? dry_run? only? (digests). op=all: every operator, any
//                 size
//                 {"kernels": [{"name", "request", "cached", "ms"}], "compiled": 2, "failed":
//                 [{"name", "error"}]}; each kernel once, however many sizes share it
// doctor          {"host": {...}, "cuda": {...}, "cache": {...}, "package_root"}; a back end says
//                 "found", "reason" and "fix", and so does each of its parts; never compiles.
//                 cache["packs"], for each shipped layer: {"dir", "is_on", "entries", "usable",
//                 "missing", "damaged", "reason", "fix"}: entries that these sources ask for,
//                 kernels of its targets that it lacks
// jit_handle      {"address": 140...}: the existing runtime
// ship_kernels    dir: a cache layer that was installed beside the package; read last, never
//                 written. Counts when asked before the first question about kernels
//                 {}
// cache_list      [{"name", "request", "build", "target", "toolchain", "bytes", "dir"}, ...]
// cache_verify    {"checked": 12, "damaged": ["..."]}
// cache_prune     max_bytes
//                 {"removed": 3, "bytes": 12345, "bytes_left": 99}
// cache_pack      file; requests? (digests; without it all but those of shipped layers)
//                 {"packed": 12, "file": "..."}
// cache_unpack    file
//                 {"unpacked": 12, "file": "..."}
// owner           {"namespace", "is_owner", "claimed_alias", "error", "file"}: how registration
//                 went in this process
//
// ---- Without a compiler ----
// A CPU operator whose kernel cannot be compiled, because the machine has no C++ compiler, calls an
// operator that Python registers in this copy's namespace (dg_namespace()), on views that are
// already nt-oriented (a [m,k], b [n,k], scales [rows, columns]; int8 operands packed along k):
//   _reference_fp8_gemm(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor(d!) d, Tensor?
//   c,
//                       SymInt gran_m, SymInt gran_n, SymInt gran_k_a, SymInt gran_k_b, float
//                       alpha) -> ()
//   _reference_bf16_gemm(Tensor a, Tensor b, Tensor(d!) d, Tensor? c, float alpha) -> ()
// gran_* are never 0 there and alpha is 1.0 when it was absent. One warning goes to stderr.
#pragma once

#include <stdint.h>

#define DG_EXPORT extern "C" __attribute__((visibility("default")))

// What Python wishes, pushed whole at every change and read once per call. 0 means "default"
// unless a line says otherwise.
typedef struct DgKnobs {
  int32_t num_sms;              // CUDA blocks of persistent kernels
  int32_t pdl;                  // programmatic dependent launch: 0 or 1
  int32_t tc_util;              // percent, 0 reads as 100
  int32_t deterministic;        // 0 or 1; every kernel of ours is
  int32_t batch_invariant;      // 0 or 1
  int32_t mk_alignment;         // of contiguous grouped layouts; 0 reads as 128
  int32_t block_m_multiple;     // 0 reads as 1
  int32_t block_n_multiple;     // 0 reads as 1
  int32_t ignore_compile_dims;  // 0 or 1; m, n and k are run-time values anyway
  int32_t check;                // device checks before the launch: 0 or 1
  int32_t num_threads;          // of host kernels; 0: torch's number of threads
} DgKnobs;

// Namespace of this copy's operators, "deep_gemm_0123456789abcdef"; static storage.
DG_EXPORT const char* dg_namespace();

// Tells where deep_gemm/__init__.py lies (the folder above include/). nullptr or "": found from the
// place of this file. 0 when registration went well and the folder has its headers; otherwise
// dg_query("owner") says what did not.
DG_EXPORT int dg_init(const char* package_root);

DG_EXPORT void dg_set_knobs(const DgKnobs* knobs);
DG_EXPORT void dg_get_knobs(DgKnobs* knobs);

DG_EXPORT char* dg_query(const char* what, const char* args);

// {"event": "compile"|"disk_hit"|"memory_hit"|"load", "name", "request", "ms"}; runs on the thread
// that did the work. nullptr clears.
DG_EXPORT void dg_set_callback(void (*callback)(const char* event_json));

DG_EXPORT void dg_free(char* answer);
