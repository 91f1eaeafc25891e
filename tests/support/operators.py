"""One small call of every public function that takes tensors, and what it has to give.

    sample = SAMPLES["fp8_gemm_nt"]
    x = sample.tensors(1)                                  # by name, on the CPU, seeded
    assert_gives(sample.run(**x), sample.want(**x), sample)

`run` allocates what the function writes and returns it, so that the same call can be traced,
compiled and captured. `want` is float64 and comes from `deep_gemm.reference` or from torch.
Longer than usual: a table with a row a function, and its makers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

import deep_gemm
from deep_gemm import _fakes_logits, _fakes_sparse, reference
from deep_gemm.reference import dequantise
from tests.support.logits import LogitsCase
from tests.support.sparse_logits import SparseCase

Tensors = dict[str, torch.Tensor]
Result = torch.Tensor | tuple[torch.Tensor, ...]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]

M, N, K, GROUPS = 128, 64, 256, 2
_FP8_BOUND, _BF16_BOUND = 1e-4, 1e-5
SLOTS = 4
# What casts multiply maxima by, on every device: the nearest float32.
_PER_448, _PER_6 = 1.0 / torch.tensor([448.0, 6.0])


@dataclass(frozen=True)
class Sample:
    """A call. `bound` is of the similarity error; None: equal, bit by bit."""

    tensors: Callable[[int], Tensors]
    run: Callable[..., Result]
    want: Callable[..., Result]
    bound: float | None = None


def results(x: Result) -> tuple[torch.Tensor, ...]:
    """What a call gives, as a tuple."""
    return (x,) if isinstance(x, torch.Tensor) else tuple(x)


def is_same(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Equal bytes, of any dtype and strides."""
    return torch.equal(*(z.contiguous().flatten().view(torch.uint8) for z in (x, y)))


def assert_gives(got: Result, want: Result, sample: Sample) -> None:
    """Every result has its shape and is close enough, or equal."""
    for index, (one, other) in enumerate(zip(results(got), results(want), strict=True)):
        one = one.cpu()
        assert one.shape == other.shape, f"result {index}: {one.shape} is not {other.shape}"
        if sample.bound is None or not one.dtype.is_floating_point:
            assert is_same(one, other.to(one.dtype)), f"result {index}"
            continue
        assert torch.equal(one == -torch.inf, other == -torch.inf), f"result {index}"
        inside = other != -torch.inf
        diff = deep_gemm.testing.calc_diff(one[inside], other[inside])
        assert diff < sample.bound, f"result {index}: similarity error {diff:.2e}"


_recorded: list[Call] | None = None


@contextmanager
def recording() -> Iterator[list[Call]]:
    """The calls of operators that samples make meanwhile: name, arguments, keywords."""
    global _recorded
    _recorded = []
    try:
        yield _recorded
    finally:
        _recorded = None


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    if _recorded is not None:
        _recorded.append((name, args, kwargs))
    return getattr(deep_gemm, name)(*args, **kwargs)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _randn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_generator(seed))


def _new(like: torch.Tensor, *shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=like.device)


# ---- Dense ----


def _turned(x: torch.Tensor, letter: str) -> torch.Tensor:
    return x.transpose(-1, -2).contiguous() if letter == "t" else x


def _scaled_operands(seed: int, letters: str, kind: str, *batch: int) -> Tensors:
    """a [m, k] by row of 128 and b [n, k] by block; FP4 by row of 32; stored as letters say."""
    a, b = _randn(seed, M, K), _randn(seed + 100, *batch, N, K)
    if kind == "fp4":
        a8, b8 = (
            [deep_gemm.per_token_cast_to_fp4(y, use_ue8m0=True, gran_k=32) for y in flat]
            for flat in ([a], b.reshape(-1, N, K))
        )
    else:
        a8 = [deep_gemm.per_token_cast_to_fp8(a, use_ue8m0=False)]
        b8 = [deep_gemm.per_block_cast_to_fp8(y, use_ue8m0=False) for y in b.reshape(-1, N, K)]
    b_data, b_scale = (torch.stack(x).view(*batch, *x[0].shape) for x in zip(*b8, strict=True))
    a_letter, b_letter = letters[0] == "t", letters[1] == "n"
    turn = {True: "t", False: "n"}
    return {
        "a": _turned(a8[0][0], turn[a_letter]),
        "a_scale": _turned(a8[0][1], turn[a_letter]),
        "b": _turned(b_data, turn[b_letter]),
        "b_scale": _turned(b_scale, turn[b_letter]),
    }


def _dequantised(letters: str, kind: str, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    a, a_scale = (_turned(x[n], "t" if letters[0] == "t" else "n") for n in ("a", "a_scale"))
    b, b_scale = (_turned(x[n], "t" if letters[1] == "n" else "n") for n in ("b", "b_scale"))
    gran_n, gran_k = (1, 32) if kind == "fp4" else (128, 128)
    return dequantise(a, a_scale, 1, gran_k), dequantise(b, b_scale, gran_n, gran_k)


def _recipe(kind: str) -> dict[str, tuple[int, int]]:
    return {"recipe_a": (1, 32), "recipe_b": (1, 32)} if kind == "fp4" else {}


def _scaled(name: str) -> Sample:
    letters, kind = name[-2:], "fp4" if name.startswith("fp4") else "fp8"

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], M, N)
        _call(name, (x["a"], x["a_scale"]), (x["b"], x["b_scale"]), d, **_recipe(kind))
        return d

    def want(**x: torch.Tensor) -> Result:
        a, b = _dequantised(letters, kind, x)
        return a @ b.t()

    return Sample(lambda seed: _scaled_operands(seed, letters, kind), run, want, _FP8_BOUND)


def _plain(name: str) -> Sample:
    letters = name[-2:]

    def tensors(seed: int) -> Tensors:
        a, b = _randn(seed, M, K).bfloat16(), _randn(seed + 100, N, K).bfloat16()
        return {
            "a": _turned(a, "t" if letters[0] == "t" else "n"),
            "b": _turned(b, "t" if letters[1] == "n" else "n"),
        }

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], M, N)
        _call(name, x["a"], x["b"], d)
        return d

    def want(**x: torch.Tensor) -> Result:
        a = _turned(x["a"], "t" if letters[0] == "t" else "n").double()
        return a @ _turned(x["b"], "t" if letters[1] == "n" else "n").double().t()

    return Sample(tensors, run, want, _BF16_BOUND)


def _nvfp4() -> Sample:
    def tiled(scale: torch.Tensor) -> torch.Tensor:
        rows, columns = -(-scale.size(0) // 128) * 128, -(-scale.size(1) // 4) * 4
        padded = torch.zeros(rows, columns)
        padded[: scale.size(0), : scale.size(1)] = scale
        bytes_ = padded.to(torch.float8_e4m3fn).view(torch.uint8)
        return bytes_.view(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).flatten()

    def tensors(seed: int) -> Tensors:
        a, a_sf = deep_gemm.per_token_cast_to_nvfp4(_randn(seed, M, K))
        b, b_sf = deep_gemm.per_token_cast_to_nvfp4(_randn(seed + 100, N, K))
        return {"a": a, "a_scale": tiled(a_sf), "b": b, "b_scale": tiled(b_sf)}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], M, N)
        _call("cublaslt_nvfp4_gemm_nt", (x["a"], x["a_scale"]), (x["b"], x["b_scale"]), d)
        return d

    def plain(data: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        rows, columns = data.size(0), K // 16
        factors = torch.empty(rows, columns, dtype=torch.float64)
        values = scale.view(torch.float8_e4m3fn).double()
        for r in range(rows):
            for j in range(columns):
                tile = r // 128 * -(-columns // 4) + j // 4
                factors[r, j] = values[tile * 512 + r % 32 * 16 + r % 128 // 32 * 4 + j % 4]
        return reference.unpack_data(data) * factors.repeat_interleave(16, 1)

    def want(**x: torch.Tensor) -> Result:
        return plain(x["a"], x["a_scale"]) @ plain(x["b"], x["b_scale"]).t()

    return Sample(tensors, run, want, _BF16_BOUND)


def _symmetric(name: str) -> Sample:
    is_syrk = name == "batched_syrk"

    def tensors(seed: int) -> Tensors:
        a = _randn(seed, GROUPS, N, N)
        x = {"a": (a + a.transpose(1, 2)).bfloat16()}
        return x if is_syrk else x | {"b": _randn(seed + 100, GROUPS, N, M).bfloat16()}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], GROUPS, N, N if is_syrk else M)
        _call(name, *x.values(), d)
        return d

    def want(**x: torch.Tensor) -> Result:
        b = x["a"].transpose(1, 2) if is_syrk else x["b"]
        return x["a"].double() @ b.double()

    return Sample(tensors, run, want, _BF16_BOUND)


def _skip_head_mid() -> Sample:
    left, mid, right = 16, 8, 16

    def tensors(seed: int) -> Tensors:
        a = deep_gemm.per_token_cast_to_fp8(_randn(seed, M, K), use_ue8m0=False)
        b = deep_gemm.per_block_cast_to_fp8(_randn(seed + 100, 64, K), use_ue8m0=False)
        return {"a": a[0], "a_scale": a[1], "b": b[0], "b_scale": b[1]}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], M, 64 + 2 * mid)
        a, b = (x["a"], x["a_scale"]), (x["b"], x["b_scale"])
        _call("fp8_gemm_nt_skip_head_mid", a, b, d, (left, mid, right))
        return d

    def want(**x: torch.Tensor) -> Result:
        a, b = _dequantised("nt", "fp8", x)
        heads = (a @ b.t()).view(M, 2, left + right)
        gap = torch.zeros(M, 2, mid, dtype=torch.float64)
        return torch.cat([heads[..., :left], gap, heads[..., left:]], dim=2).flatten(1)

    return Sample(tensors, run, want, _FP8_BOUND)


# ---- Grouped ----


def _grouped(name: str) -> Sample:
    is_bf16 = "bf16" in name
    kind = "fp4" if "_fp4_gemm" in name and "fp8" not in name else "fp8"
    is_masked, b_letter = "masked" in name, "n" if "_nn_" in name else "t"
    rows = M if is_masked else 256

    def tensors(seed: int) -> Tensors:
        if is_bf16:
            b = _randn(seed + 100, GROUPS, N, K).bfloat16()
            x = {
                "a": _randn(seed, M, K).bfloat16(),
                "b": _turned(b, "t" if b_letter == "n" else "n"),
            }
        else:
            x = _scaled_operands(seed, "n" + b_letter, kind, GROUPS)
        for key in [key for key in x if key.startswith("a")]:
            if is_masked:
                x[key] = x[key].unsqueeze(0).expand(GROUPS, *x[key].shape).contiguous()
            else:
                x[key] = torch.cat([x[key], x[key]])
        if is_masked:
            return x | {"layout": torch.tensor([M, M], dtype=torch.int32)}
        order = [seed % 2] * 128 + [1 - seed % 2] * 128
        return x | {"layout": torch.tensor(order, dtype=torch.int32)}

    def run(**x: torch.Tensor) -> Result:
        shape = (GROUPS, M, N) if is_masked else (rows, N)
        d = _new(x["a"], *shape)
        pairs = (x["a"], x["b"]) if is_bf16 else ((x["a"], x["a_scale"]), (x["b"], x["b_scale"]))
        more = {} if is_bf16 else _recipe(kind)
        _call(name, *pairs, d, x["layout"], *((M,) if is_masked else ()), **more)
        return d

    def want(**x: torch.Tensor) -> Result:
        if is_bf16:
            a = x["a"].double()
            b = _turned(x["b"], "t" if b_letter == "n" else "n").double()
        else:
            a, b = _dequantised("n" + b_letter, kind, x)
        if is_masked:
            return a @ b.transpose(1, 2)
        return torch.einsum("mk,mnk->mn", a, b[x["layout"].long()])

    return Sample(tensors, run, want, _BF16_BOUND if is_bf16 else _FP8_BOUND)


def _k_grouped(name: str) -> Sample:
    ks = [128, 128]
    is_bf16, is_fp4, is_flat = "bf16" in name, "_fp4_" in name, "fp8_gemm_nt" in name

    def side(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        if is_bf16:
            return x.bfloat16().t().contiguous(), None
        if is_fp4:
            data, scale = deep_gemm.per_token_cast_to_fp4(x, use_ue8m0=True, gran_k=32)
            return data, scale.t().contiguous()
        data, scale = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
        if is_flat:
            return torch.cat([data[:, :128].flatten(), data[:, 128:].flatten()]), scale
        return data.t().contiguous(), scale.t().contiguous()

    def tensors(seed: int) -> Tensors:
        x = {"c": _randn(seed + 200, GROUPS, M, N)}
        for key, mn in (("a", M), ("b", N)):
            x[key], scale = side(_randn(seed + mn, mn, K))
            if scale is not None:
                x[f"{key}_scale"] = scale
        return x | {"layout": torch.tensor(ks, dtype=torch.int32)}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], GROUPS, M, N, dtype=torch.float32)
        pairs = (x["a"], x["b"]) if is_bf16 else ((x["a"], x["a_scale"]), (x["b"], x["b_scale"]))
        _call(name, *pairs, d, ks, x["layout"], x["c"])
        return d

    def plain(x: Tensors, key: str, mn: int) -> torch.Tensor:
        data = x[key]
        if is_bf16:
            return data.double().t()
        scale = x[f"{key}_scale"]
        if is_fp4:
            return dequantise(data, scale.t(), 1, 32)
        if is_flat:
            data = torch.cat([y.view(mn, 128) for y in data.view(torch.uint8).chunk(2)], dim=1)
            return dequantise(data.view(torch.float8_e4m3fn), scale, 1, 128)
        return dequantise(data.t(), scale.t(), 1, 128)

    def want(**x: torch.Tensor) -> Result:
        a, b = plain(x, "a", M).view(M, 2, 128), plain(x, "b", N).view(N, 2, 128)
        return x["c"].double() + torch.einsum("mgk,ngk->gmn", a, b)

    return Sample(tensors, run, want, _FP8_BOUND)


# ---- Einsum, hyper-connection, expert choice ----


def _einsum() -> Sample:
    def tensors(seed: int) -> Tensors:
        a, b = _randn(seed, 24, GROUPS, K), _randn(seed + 100, GROUPS, N, K)
        return {"a": a.bfloat16(), "b": b.bfloat16()}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], 24, GROUPS, N)
        _call("einsum", "bhr,hdr->bhd", x["a"], x["b"], d)
        return d

    def want(**x: torch.Tensor) -> Result:
        return torch.einsum("bhr,hdr->bhd", x["a"].double(), x["b"].double())

    return Sample(tensors, run, want, _BF16_BOUND)


def _fp8_einsum() -> Sample:
    def tensors(seed: int) -> Tensors:
        a = deep_gemm.per_token_cast_to_fp8(_randn(seed, 24 * GROUPS, K), use_ue8m0=False)
        b = [
            deep_gemm.per_block_cast_to_fp8(y, use_ue8m0=False)
            for y in _randn(seed + 100, GROUPS, N, K)
        ]
        return {
            "a": a[0].view(24, GROUPS, K),
            "a_scale": a[1].view(24, GROUPS, -1),
            "b": torch.stack([data for data, _ in b]),
            "b_scale": torch.stack([scale for _, scale in b]),
        }

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], 24, GROUPS, N)
        _call("fp8_einsum", "bhr,hdr->bhd", (x["a"], x["a_scale"]), (x["b"], x["b_scale"]), d)
        return d

    def want(**x: torch.Tensor) -> Result:
        a = dequantise(x["a"], x["a_scale"], 1, 128)
        return torch.einsum("bhr,hdr->bhd", a, dequantise(x["b"], x["b_scale"], 128, 128))

    return Sample(tensors, run, want, _FP8_BOUND)


def _hc() -> Sample:
    def tensors(seed: int) -> Tensors:
        return {"a": _randn(seed, M, K).bfloat16(), "b": _randn(seed + 100, 24, K)}

    def run(**x: torch.Tensor) -> Result:
        d = _new(x["a"], 2, M, 24, dtype=torch.float32)
        squares = _new(x["a"], 2, M, dtype=torch.float32)
        _call("tf32_hc_prenorm_gemm", x["a"], x["b"], d, squares, 2)
        return d, squares

    def want(**x: torch.Tensor) -> Result:
        return reference.tf32_hc_prenorm_gemm(x["a"], x["b"], 2)

    return Sample(tensors, run, want, 1e-8)


def _gate() -> Sample:
    def tensors(seed: int) -> Tensors:
        order = torch.randperm(64, generator=_generator(seed)).float()
        weight = torch.zeros(64, 32)
        weight[:, 0] = order / 16
        return {"x": torch.ones(M, 32).bfloat16(), "weight": weight.bfloat16()}

    def run(**x: torch.Tensor) -> Result:
        return _call("bf16_mega_gate", x["x"], x["weight"], 8, False, 0, 2.5, 0)

    def want(**x: torch.Tensor) -> Result:
        return reference.bf16_mega_gate(x["x"], x["weight"], 8, 2.5)

    return Sample(tensors, run, want, 1e-10)


# ---- Logits ----


def _logits_tensors(kind: str) -> Callable[[int], Tensors]:
    def tensors(seed: int) -> Tensors:
        q, kv, weights, starts, ends = LogitsCase(7 + 0 * seed, 90, 8, 64, kind).contiguous("cpu")
        x = {"q": q[0], "kv": kv[0], "kv_scale": kv[1], "starts": starts, "ends": ends}
        x["weights"] = weights.roll(seed, 0)
        return x if q[1] is None else x | {"q_scale": q[1]}

    return tensors


def _logits(name: str) -> Sample:
    kind = "fp4" if "fp4" in name else "fp8"

    def run(**x: torch.Tensor) -> Result:
        kv = x["kv"], x["kv_scale"]
        rest = x["weights"], x["starts"], x["ends"]
        if kind == "fp8":
            return _call("fp8_mqa_logits", x["q"], kv, *rest)
        return _call("fp8_fp4_mqa_logits", (x["q"], x["q_scale"]), kv, *rest)

    def want(**x: torch.Tensor) -> Result:
        return reference.mqa_logits(
            x["q"], x["kv"], x["kv_scale"], x["weights"], x["starts"], x["ends"],
            q_scale=x.get("q_scale"),
        )  # fmt: skip

    return Sample(_logits_tensors(kind), run, want, _BF16_BOUND)


def _paged_tensors(kind: str) -> Callable[[int], Tensors]:
    def tensors(seed: int) -> Tensors:
        call = LogitsCase(5, 90, 8, 64, kind).paged("cpu", torch.full((5, 1), 90))
        x = {"q": call["q"][0], "cache": call["kv_cache"], "lens": call["context_lens"]}
        x |= {"weights": call["weights"].roll(seed, 0), "table": call["block_table"]}
        return x if kind == "fp8" else x | {"q_scale": call["q"][1]}

    return tensors


def _paged_logits(name: str) -> Sample:
    kind = "fp4" if "fp4" in name else "fp8"

    def run(**x: torch.Tensor) -> Result:
        slots = deep_gemm.get_num_sms() if x["q"].is_cuda else SLOTS
        meta = _call("get_paged_mqa_logits_metadata", x["lens"], 64, slots)
        rest = x["cache"], x["weights"], x["lens"], x["table"], meta, 90
        if kind == "fp8":
            return _call("fp8_paged_mqa_logits", x["q"], *rest)
        return _call("fp8_fp4_paged_mqa_logits", (x["q"], x["q_scale"]), *rest)

    def want(**x: torch.Tensor) -> Result:
        return reference.paged_mqa_logits(
            x["q"], x["cache"], x["weights"], x["lens"], x["table"], 90, q_scale=x.get("q_scale")
        )

    return Sample(_paged_tensors(kind), run, want, _BF16_BOUND)


def _metadata(name: str) -> Sample:
    def run(**x: torch.Tensor) -> Result:
        if "paged" in name:
            return _call("get_paged_mqa_logits_metadata", x["lens"], 64, SLOTS)
        return _call("get_mqa_logits_metadata", x["starts"], x["ends"], 90, 8)

    def want(**x: torch.Tensor) -> Result:
        if "paged" not in name:
            return torch.zeros(1, dtype=torch.int32)
        out = torch.empty(SLOTS + 1, 2, dtype=torch.int32)
        _fakes_logits._reference_logits_schedule(x["lens"], out)
        return out

    return Sample(_paged_tensors("fp8") if "paged" in name else _logits_tensors("fp8"), run, want)


def _sparse(name: str) -> Sample:
    case = SparseCase(LogitsCase(7, 190, 8, 64, "fp4"), 8, 16)
    is_paged, is_metadata = "paged" in name, "metadata" in name

    def tensors(seed: int) -> Tensors:
        call = case.paged("cpu") if is_paged else case.contiguous("cpu")
        x = {"q": call["q"][0], "q_scale": call["q"][1], "blocks": call["blocks"]}
        x["weights"] = call["weights"].roll(seed, 0)
        if is_paged:
            return x | {name: call[name] for name in ("kv_cache", "lens", "table")}
        x |= {"kv": call["kv"][0], "kv_scale": call["kv"][1]}
        return x | {"starts": call["starts"], "ends": call["ends"]}

    def meta(**x: torch.Tensor) -> torch.Tensor:
        if is_paged:
            return _call(
                "get_paged_sparse_mqa_logits_metadata",
                x["lens"],
                x["table"],
                None,
                64,
                x["blocks"],
                torch.int8,
                16,
            )
        return _call(
            "get_sparse_mqa_logits_metadata",
            x["starts"],
            x["ends"],
            190,
            x["blocks"],
            torch.int8,
            16,
        )

    def run(**x: torch.Tensor) -> Result:
        if is_metadata:
            return meta(**x)
        q, rest = (x["q"], x["q_scale"]), (x["weights"], meta(**x), 8, 16)
        if is_paged:
            return _call("fp8_fp4_paged_sparse_mqa_logits", q, x["kv_cache"], *rest)
        return _call("fp8_fp4_sparse_mqa_logits", q, (x["kv"], x["kv_scale"]), *rest)

    def want(**x: torch.Tensor) -> Result:
        if is_metadata:
            out = torch.empty(7 * 8 * 8, dtype=torch.uint8)
            rest = x["blocks"], out
            if is_paged:
                keys = 64 * x["table"].size(1)
                ranges = None, x["lens"], x["table"], *rest, keys, 64, 16, False
            else:
                ranges = x["starts"], x["ends"], None, *rest, 190, 0, 16, False
            _fakes_sparse._reference_sparse_schedule(*ranges)
            return out
        if is_paged:
            return reference.paged_sparse_mqa_logits(
                x["q"], x["kv_cache"], x["weights"], x["lens"], x["table"], x["blocks"], 16,
                q_scale=x["q_scale"],
            )  # fmt: skip
        return reference.sparse_mqa_logits(
            x["q"], x["kv"], x["kv_scale"], x["weights"], x["starts"], x["ends"], x["blocks"], 16,
            q_scale=x["q_scale"],
        )  # fmt: skip

    return Sample(tensors, run, want, None if is_metadata else 3e-5)


# ---- Layouts and casts ----


def _powers(seed: int, *shape: int) -> torch.Tensor:
    return torch.exp2(torch.randint(-8, 8, shape, generator=_generator(seed)).float())


def _of_one(
    make: Callable[[int], torch.Tensor], run: Callable[..., Result], want: Callable[..., Result]
) -> Sample:
    return Sample(lambda seed: {"x": make(seed)}, lambda **x: run(x["x"]), lambda **x: want(x["x"]))


def _packed_rows(sf: torch.Tensor) -> torch.Tensor:
    """Four exponents a word, zeros behind the last."""
    exponents = torch.log2(sf).long() + 127
    exponents = torch.nn.functional.pad(exponents, (0, -sf.size(-1) % 4))
    words = (exponents.view(*sf.shape[:-1], -1, 4) << torch.tensor([0, 8, 16, 24])).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()


def _cast_by_hand(x: torch.Tensor, gran: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """(FP8 data, scales): amax times 1/448, rounded to float32, of blocks of that size."""
    rows, columns = gran
    blocks = x.view(x.size(0) // rows, rows, x.size(1) // columns, columns).float()
    sf = blocks.abs().amax((1, 3)).clamp(1e-4) * _PER_448
    data = blocks * (1.0 / sf)[:, None, :, None]
    return data.view_as(x).to(torch.float8_e4m3fn), sf


def _layouts() -> dict[str, Sample]:
    utils = deep_gemm.utils
    transform = deep_gemm.transform_sf_into_required_layout
    pack = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor
    k_pack = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor
    layout = torch.tensor([256, 128], dtype=torch.int32)

    def k_grouped(x: Tensors) -> Result:
        return k_pack(x["x"], x["layout"], [256, 128], 128)

    def k_want(x: Tensors) -> Result:
        return torch.cat([_packed_rows(part.t()).t() for part in x["x"].split([2, 1])])

    samples = {
        "transform_sf_into_required_layout": _of_one(
            lambda seed: _powers(seed, 33, 2),
            lambda x: transform(x, 33, 256, (1, 128), disable_ue8m0_cast=True),
            lambda x: x,
        ),
        "get_mn_major_tma_aligned_tensor": _of_one(
            lambda seed: _randn(seed, 33, 5), deep_gemm.get_mn_major_tma_aligned_tensor, lambda x: x
        ),
        "get_mn_major_tma_aligned_packed_ue8m0_tensor": _of_one(
            lambda seed: _powers(seed, 33, 5), pack, _packed_rows
        ),
        "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor": Sample(
            lambda seed: {"x": _powers(seed, 3, 36), "layout": layout},
            lambda **x: k_grouped(x),
            lambda **x: k_want(x),
        ),
        "ceil_to_ue8m0": _of_one(
            lambda seed: _randn(seed, 33, 5), utils.ceil_to_ue8m0,
            lambda x: torch.exp2(torch.log2(x.double().abs()).ceil()).float(),
        ),
        "pack_ue8m0_to_int": _of_one(
            lambda seed: _powers(seed, 33, 8), utils.pack_ue8m0_to_int, _packed_rows
        ),
        "unpack_ue8m0_from_int": _of_one(
            lambda seed: _packed_rows(_powers(seed, 33, 8)), utils.unpack_ue8m0_from_int,
            lambda x: reference.expand_scale(x, 33, 8, 1, 1, torch.float32),
        ),
        "cast_to_ue4m3": _of_one(
            lambda seed: _randn(seed, 33, 8), utils.cast_to_ue4m3,
            lambda x: x.abs().clamp(2**-9, 448).to(torch.float8_e4m3fn).float(),
        ),
        "pack_ue4m3_to_int": _of_one(
            lambda seed: _powers(seed, 33, 8), utils.pack_ue4m3_to_int,
            lambda x: x.to(torch.float8_e4m3fn).view(torch.int32),
        ),
        "unpack_ue4m3_from_int": _of_one(
            lambda seed: _powers(seed, 33, 8).to(torch.float8_e4m3fn).view(torch.int32),
            utils.unpack_ue4m3_from_int, lambda x: x.view(torch.float8_e4m3fn).float(),
        ),
        "transform_ue4m3_sf_into_required_layout": _of_one(
            lambda seed: _powers(seed, 33, 8),
            lambda x: utils.transform_ue4m3_sf_into_required_layout(x, 33),
            lambda x: x.to(torch.float8_e4m3fn).view(torch.int32),
        ),
    }  # fmt: skip
    return samples | _casts()


def _casts() -> dict[str, Sample]:
    utils = deep_gemm.utils

    def rows(seed: int) -> torch.Tensor:
        return _randn(seed, 128, K)

    def nibbles(x: torch.Tensor) -> torch.Tensor:
        return x.view(torch.uint8).unsqueeze(-1).bitwise_right_shift(torch.tensor([0, 4])) & 15

    def by_channel(x: torch.Tensor) -> Result:
        return _cast_by_hand(x, (128, 1))

    def fp4_close(cast: Callable[[torch.Tensor], Result], gran: int) -> Callable[..., Result]:
        def by_hand(x: torch.Tensor) -> Result:
            groups = x.view(x.size(0), -1, gran)
            sf = groups.abs().amax(2).clamp(1e-4) * _PER_6
            if cast is nvfp4:
                sf = (groups.abs().amax(2) * _PER_6).to(torch.float8_e4m3fn).float()
            levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
            scaled = (groups * (1.0 / sf).unsqueeze(2)).view_as(x)
            code = (scaled.abs().unsqueeze(-1) - levels).abs().argmin(-1)
            code = code + 8 * ((scaled < 0) & (code > 0))
            return (code[:, ::2] + 16 * code[:, 1::2]).to(torch.uint8).view(torch.int8), sf

        return by_hand

    def fp4(x: torch.Tensor) -> Result:
        return utils.per_token_cast_to_fp4(x, False, 32)

    def nvfp4(x: torch.Tensor) -> Result:
        return utils.per_token_cast_to_nvfp4(x)

    def packed(seed: int) -> Tensors:
        data, sf = utils.per_token_cast_to_fp4(rows(seed), True, 32)
        return {"x": data, "sf": sf}

    def fp8(seed: int) -> Tensors:
        data, sf = utils.per_token_cast_to_fp8(rows(seed), False)
        return {"x": data, "sf": sf}

    def by_dims(x: torch.Tensor) -> Result:
        sf = x.abs().amax(1).clamp(1e-4) * _PER_448
        return (x * (1.0 / sf)[:, None]).to(torch.float8_e4m3fn), sf

    def transposed(x: torch.Tensor) -> Result:
        codes = nibbles(x).flatten(1).t()
        return (codes[:, ::2] + 16 * codes[:, 1::2]).to(torch.uint8).view(torch.int8)

    return {
        "per_token_cast_to_fp8": _of_one(
            rows, lambda x: utils.per_token_cast_to_fp8(x, False),
            lambda x: _cast_by_hand(x, (1, 128)),
        ),
        "per_channel_cast_to_fp8": _of_one(
            rows, lambda x: utils.per_channel_cast_to_fp8(x, False), by_channel
        ),
        "per_block_cast_to_fp8": _of_one(
            rows, lambda x: utils.per_block_cast_to_fp8(x, False),
            lambda x: _cast_by_hand(x, (128, 128)),
        ),
        "per_custom_dims_cast_to_fp8": _of_one(
            rows, lambda x: utils.per_custom_dims_cast_to_fp8(x, (0,), False), by_dims
        ),
        "per_token_cast_to_fp4": _of_one(rows, fp4, fp4_close(fp4, 32)),
        "per_token_cast_to_nvfp4": _of_one(rows, nvfp4, fp4_close(nvfp4, 16)),
        "transpose_packed_fp4": _of_one(
            lambda seed: packed(seed)["x"], utils.transpose_packed_fp4, transposed
        ),
        "cast_back_from_fp4": Sample(
            packed, lambda **x: utils.cast_back_from_fp4(x["x"], x["sf"], 32),
            lambda **x: dequantise(x["x"], x["sf"], 1, 32).float(),
        ),
        "cast_back_from_fp8": Sample(
            fp8, lambda **x: utils.cast_back_from_fp8(x["x"], x["sf"]),
            lambda **x: dequantise(x["x"], x["sf"], 1, 128).float(),
        ),
    }  # fmt: skip


# ---- Weights of fused mixtures of experts ----


def _weights() -> dict[str, Sample]:
    order = [gate + 8 * j + r for j in range(16) for gate in (0, 128) for r in range(8)]
    inside = [32 * (r % 4) + r // 4 for r in range(128)]  # what lies at r % 128 came from there

    def scales(seed: int, rows: int) -> torch.Tensor:
        g = _generator(seed)
        x = torch.empty(2, 3, rows, dtype=torch.int32).transpose(1, 2)
        return x.copy_(torch.randint(0, 1 << 30, (2, rows, 3), generator=g))

    def permuted(x: torch.Tensor) -> torch.Tensor:
        return x[:, [block + r for block in range(0, x.size(1), 128) for r in inside]]

    def tensors(seed: int) -> Tensors:
        x = {"w1": _randn(seed, 2, 256, 8).bfloat16(), "w2": _randn(seed, 2, 128, 8).bfloat16()}
        return x | {"s1": scales(seed, 256), "s2": scales(seed + 1, 128)}

    def flat(pairs: tuple) -> Result:
        return tuple(x for pair in pairs for x in pair)

    first, second = ("w1", "s1"), ("w2", "s2")

    def pairs(x: Tensors) -> tuple:
        return tuple(tuple(x[name] for name in names) for names in (first, second))

    def moe(**x: torch.Tensor) -> Result:
        return flat(deep_gemm.transform_weights_for_mega_moe(*pairs(x)))

    def sm90(**x: torch.Tensor) -> Result:
        return flat(deep_gemm.transform_weights_for_mega_moe_sm90(*pairs(x)))

    return {
        "transform_scales_for_mega_moe": Sample(
            tensors, lambda **x: deep_gemm.transform_scales_for_mega_moe(x["s1"], x["s2"]),
            lambda **x: (permuted(x["s1"][:, order]), permuted(x["s2"])),
        ),
        "transform_weights_for_mega_moe": Sample(
            tensors, moe,
            lambda **x: (
                x["w1"][:, order], permuted(x["s1"][:, order]), x["w2"], permuted(x["s2"])
            ),
        ),
        "transform_weights_for_mega_moe_sm90": Sample(
            tensors, sm90, lambda **x: (x["w1"][:, order], x["s1"], x["w2"], x["s2"])
        ),
    }  # fmt: skip


_LETTERS = ("nt", "nn", "tn", "tt")

SAMPLES: dict[str, Sample] = (
    {
        f"{stem}_{x}": _scaled(f"{stem}_{x}")
        for stem in ("fp8_gemm", "fp8_fp4_gemm")
        for x in _LETTERS
    }
    | {
        f"{stem}_{x}": _plain(f"{stem}_{x}")
        for stem in ("bf16_gemm", "cublaslt_gemm")
        for x in _LETTERS
    }
    | {
        "fp4_gemm_nt": _scaled("fp4_gemm_nt"),
        "cublaslt_nvfp4_gemm_nt": _nvfp4(),
        "batched_syrk": _symmetric("batched_syrk"),
        "batched_symm": _symmetric("batched_symm"),
        "fp8_gemm_nt_skip_head_mid": _skip_head_mid(),
        "einsum": _einsum(),
        "fp8_einsum": _fp8_einsum(),
        "tf32_hc_prenorm_gemm": _hc(),
        "bf16_mega_gate": _gate(),
    }
    | {
        name: _grouped(name)
        for name in deep_gemm._C.__all__
        if name.startswith("m_grouped_") or name.endswith("m_grouped_gemm_nt_masked")
    }
    | {name: _k_grouped(name) for name in deep_gemm._C.__all__ if name.startswith("k_grouped_")}
    | {name: _logits(name) for name in ("fp8_mqa_logits", "fp8_fp4_mqa_logits")}
    | {name: _paged_logits(name) for name in ("fp8_paged_mqa_logits", "fp8_fp4_paged_mqa_logits")}
    | {
        name: _metadata(name)
        for name in ("get_mqa_logits_metadata", "get_paged_mqa_logits_metadata")
    }
    | {name: _sparse(name) for name in deep_gemm._C.__all__ if "sparse" in name}
    | _layouts()
    | _weights()
)


def arguments_of(sample: Sample, seed: int, device: str) -> dict[str, Any]:
    """The tensors of a call on a device."""
    return {name: x.to(device) for name, x in sample.tensors(seed).items()}
