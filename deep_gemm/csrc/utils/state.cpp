#include <deep_gemm/csrc/utils/state.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>

namespace deep_gemm {
namespace {

constexpr std::size_t kNumKnobs = sizeof(Knobs) / sizeof(std::int32_t);
using Words = std::array<std::int32_t, kNumKnobs>;

// Every field by itself is read whole; a setter that races a call may be half seen by it.
std::array<std::atomic<std::int32_t>, kNumKnobs> knob_words;

std::mutex root_mutex;
std::filesystem::path chosen_root;
std::vector<std::filesystem::path> shipped_folders;  // under root_mutex too

std::filesystem::path root_beside_this_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&root_beside_this_file), &info) == 0) return {};
  std::error_code ignored;
  auto folder = std::filesystem::weakly_canonical(info.dli_fname, ignored).parent_path();
  const auto first = folder;
  for (int up = 0; up < 3; ++up, folder = folder.parent_path())
    if (std::filesystem::exists(folder / "include" / "deep_gemm", ignored)) return folder;
  return first;
}

}  // namespace

Knobs current_knobs() {
  Words words;
  for (std::size_t i = 0; i < kNumKnobs; ++i)
    words[i] = knob_words[i].load(std::memory_order_relaxed);
  return std::bit_cast<Knobs>(words);
}

void set_knobs(const Knobs& knobs) {
  const auto words = std::bit_cast<Words>(knobs);
  for (std::size_t i = 0; i < kNumKnobs; ++i)
    knob_words[i].store(words[i], std::memory_order_relaxed);
}

void set_package_root(const std::string& root) {
  std::error_code ignored;
  const std::lock_guard<std::mutex> guard(root_mutex);
  chosen_root = root.empty() ? std::filesystem::path() : std::filesystem::absolute(root, ignored);
}

void add_shipped_kernels(const std::filesystem::path& folder) {
  const std::lock_guard<std::mutex> guard(root_mutex);
  if (std::find(shipped_folders.begin(), shipped_folders.end(), folder) == shipped_folders.end())
    shipped_folders.push_back(folder);
}

std::vector<std::filesystem::path> shipped_kernels() {
  const std::lock_guard<std::mutex> guard(root_mutex);
  return shipped_folders;
}

std::filesystem::path package_root() {
  const std::lock_guard<std::mutex> guard(root_mutex);
  if (chosen_root.empty()) chosen_root = root_beside_this_file();
  return chosen_root;
}

}  // namespace deep_gemm
