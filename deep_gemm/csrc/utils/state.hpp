// The little that lives between calls: the wishes that Python pushed, where the package lies, and
// which folders of kernels were installed beside it.
//   const Knobs knobs = current_knobs();    // once per call, in ops/
//   package_root();                         // the folder above include/
// Leaves the C functions that set these to control.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <deep_gemm/csrc/plan/knobs.hpp>

namespace deep_gemm {

Knobs current_knobs();
void set_knobs(const Knobs& knobs);

// Empty: the folder of this extension file, or the nearest above it that has include/deep_gemm.
void set_package_root(const std::string& root);
std::filesystem::path package_root();

// Cache layers that the runtimes read last. Each counts once; known before the first runtime is
// made, or not at all.
void add_shipped_kernels(const std::filesystem::path& folder);
std::vector<std::filesystem::path> shipped_kernels();

}  // namespace deep_gemm
