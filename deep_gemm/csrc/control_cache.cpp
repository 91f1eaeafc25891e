// Questions about the kernel cache: one cache serves every back end.
#include <algorithm>
#include <charconv>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::answers {
namespace {

deep_jit::DiskCache& cache() { return *host_jit().disk_cache; }

std::filesystem::path file_of(const Arguments& arguments) {
  require_keys("cache", arguments, {"file", "requests"});
  const std::string file = value_of(arguments, "file");
  if (file.empty()) refuse(Rule::Described, {"cache", "file", "nothing"}, {"the path of a pack"});
  return file;
}

// Installed beside the package: it travels as a wheel.
bool is_shipped(const deep_jit::DiskCache::Entry& entry) {
  const auto& folders = host_jit().config.shipped_kernels;
  const auto layer = entry.dir.parent_path().parent_path();
  return std::find(folders.begin(), folders.end(), layer) != folders.end();
}

}  // namespace

json cache_list(const Arguments& arguments) {
  require_keys("cache_list", arguments, {});
  json list = json::array();
  for (const auto& entry : cache().list()) {
    std::uint64_t bytes = 0;
    for (const auto& file : entry.manifest.files) bytes += file.size;
    json row = json::object();
    row["name"] = entry.manifest.name;
    row["request"] = entry.manifest.request;
    row["build"] = entry.manifest.build;
    row["target"] = entry.manifest.target;
    row["toolchain"] = entry.manifest.toolchain;
    row["bytes"] = bytes;
    row["dir"] = entry.dir;
    list.push_back(std::move(row));
  }
  return list;
}

json cache_verify(const Arguments& arguments) {
  require_keys("cache_verify", arguments, {});
  json damaged = json::array();
  for (const auto& problem : cache().verify())
    damaged.push_back(problem.dir.string() + ": " + problem.why);
  json answer = json::object();
  answer["checked"] = cache().list().size();
  answer["damaged"] = std::move(damaged);
  return answer;
}

json cache_prune(const Arguments& arguments) {
  require_keys("cache_prune", arguments, {"max_bytes"});
  std::uint64_t max_bytes = 0;
  const std::string text = value_of(arguments, "max_bytes");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), max_bytes);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(Rule::Described, {"cache", "max_bytes", "\"" + text + "\""}, {"a number of bytes"});
  const auto done = cache().prune(max_bytes);
  json answer = json::object();
  answer["removed"] = done.num_entries;
  answer["bytes"] = done.num_bytes;
  answer["bytes_left"] = done.num_bytes_left;
  return answer;
}

json cache_pack(const Arguments& arguments) {
  const auto file = file_of(arguments);
  auto entries = cache().list();
  const std::string chosen = value_of(arguments, "requests");
  std::erase_if(entries, [&](const auto& entry) {
    return chosen.empty() ? is_shipped(entry)
                          : chosen.find(entry.manifest.request) == std::string::npos;
  });
  cache().pack(entries, file);
  json answer = json::object();
  answer["packed"] = entries.size();
  answer["file"] = file;
  return answer;
}

json cache_unpack(const Arguments& arguments) {
  const auto file = file_of(arguments);
  json answer = json::object();
  answer["unpacked"] = cache().unpack(file);
  answer["file"] = file;
  return answer;
}

}  // namespace deep_gemm::answers
