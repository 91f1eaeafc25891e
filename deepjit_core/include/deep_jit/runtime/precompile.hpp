// A list of kernels compiled in parallel, ahead of the first request that needs them.
//
//   std::vector<KernelRequest<Host>> requests = {{"add", source, {.arch = "x86-64-v3"}}, ...};
//   auto report = precompile<Host>(jit, requests, 8, [](auto&&... step) { show(step...); });
//   report.rows;       // one per request, in order: was it cached, how long did it take
//   report.failures;   // name and message of each; the others are in the cache
//
// Allocates no tensors and, with options.arch set, needs no device. Leaves moving the result to
// another machine to DiskCache::pack.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <deep_jit/runtime/runtime.hpp>
#include <deep_jit/utils/gil.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

template <class B>
struct KernelRequest {
  std::string name;
  std::string source;
  typename B::CompilerOptions options = {};
};

enum class PrecompileStep {
  kCompile,         // into the cache; no device with an explicit arch
  kCompileAndLoad,  // also into memory: loading alone stalls a request too
};

struct PrecompileReport {
  struct Row {
    std::string name;
    std::string request;      // digest; empty where it could not even be made
    bool was_cached = false;  // nothing was compiled for it
    double ms = 0;
    std::string error;  // empty: it is in the cache
  };
  struct Failure {
    std::string name;
    std::string message;
  };
  std::size_t total = 0;
  std::vector<Row> rows;
  std::vector<Failure> failures;
  double ms = 0;
};

// One call per finished kernel, never two at a time: how many are done, of how many, which, how
// long.
using PrecompileProgress =
    std::function<void(std::size_t done, std::size_t total, std::string_view name, double ms)>;

// num_threads 0: one per processor. A failure ends its own kernel only.
template <class B>
PrecompileReport precompile(Runtime<B>& jit, std::span<const KernelRequest<B>> requests,
                            unsigned num_threads = 0, const PrecompileProgress& progress = {},
                            PrecompileStep step = PrecompileStep::kCompile) {
  const GilScopedRelease without_gil;
  const detail::Stopwatch whole;
  PrecompileReport report;
  report.total = requests.size();
  report.rows.resize(requests.size());
  std::atomic<std::size_t> next{0};
  std::size_t num_done = 0;
  std::mutex mutex;

  const auto work = [&] {
    for (std::size_t at = next.fetch_add(1); at < requests.size(); at = next.fetch_add(1)) {
      const KernelRequest<B>& request = requests[at];
      PrecompileReport::Row& row = report.rows[at];  // this thread's alone
      const detail::Stopwatch watch;
      row.name = request.name;
      try {
        auto ensured = jit.ensure_entry(request.name, request.source, request.options);
        row.request = std::move(ensured.request);
        row.was_cached = ensured.was_cached;
        if (step == PrecompileStep::kCompileAndLoad)
          jit.compile(request.name, request.source, request.options);
      } catch (const std::exception& error) {
        row.error = error.what();
        if (row.error.empty()) row.error = "failed without a message";
      }
      row.ms = watch.ms();
      const std::lock_guard<std::mutex> guard(mutex);
      if (!row.error.empty()) report.failures.push_back({row.name, row.error});
      ++num_done;
      try {
        if (progress) progress(num_done, requests.size(), request.name, row.ms);
      } catch (...) {
        // A progress bar that fails is no reason to stop compiling.
      }
    }
  };

  if (num_threads == 0) num_threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t num_helpers = std::min<std::size_t>(num_threads, requests.size());
  std::vector<std::thread> helpers;
  try {
    for (std::size_t i = 1; i < num_helpers; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: the ones that exist do the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  report.ms = whole.ms();
  return report;
}

template <class B>
PrecompileReport precompile(Runtime<B>& jit, const std::vector<KernelRequest<B>>& requests,
                            unsigned num_threads = 0, const PrecompileProgress& progress = {},
                            PrecompileStep step = PrecompileStep::kCompile) {
  return precompile<B>(jit, std::span<const KernelRequest<B>>(requests), num_threads, progress,
                       step);
}

}  // namespace DJ_HIDDEN deep_jit
