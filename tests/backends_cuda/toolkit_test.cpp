#include <deep_jit/backend/cuda/toolkit_search.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/check.hpp"

namespace {

namespace fs = std::filesystem;
using namespace deep_jit;

// A folder that is gone with its owner, filled with files that look like toolkits.
class FakeTree {
 public:
  FakeTree() {
    char name[] = "/tmp/dj_toolkit_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~FakeTree() { fs::remove_all(root_); }
  fs::path operator/(const std::string& below) const { return root_ / below; }

  fs::path add(const std::string& below, const std::string& text) const {
    const fs::path path = root_ / below;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  fs::path add_library(const std::string& below) const {
    return add(below, std::string("\x7f"
                                  "ELF\x02",
                                  5) +
                          std::string(200, 'x'));
  }
  fs::path add_program(const std::string& below) const {
    const fs::path path = add(below, "#!/bin/sh\n");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // A whole toolkit with nvcc, as installers lay it out.
  void add_toolkit(const std::string& root, int version) const {
    for (const char* name : {"/bin/nvcc", "/bin/ptxas", "/bin/cudafe++", "/nvvm/bin/cicc"})
      add_program(root + name);
    add(root + "/bin/nvcc.profile", "");
    add(root + "/include/cuda_runtime_api.h", "");
    add(root + "/include/cuda.h", str::format("#define CUDA_VERSION {}\n", version));
  }

 private:
  fs::path root_;
};

cuda::SearchPlaces empty_places() {
  cuda::SearchPlaces places;
  places.ask_loader = false;
  return places;
}

TEST(Toolkit, NothingAnywhereIsSaidWithEveryPlaceAndAWayOut) {
  const FakeTree tree;
  cuda::SearchPlaces places = empty_places();
  places.named_roots = {{"CUDA_HOME", tree / "gone"}};
  places.conda_root = tree / "conda";
  places.default_roots = {{"/usr/local/cuda", tree / "default"}};
  for (const cuda::Verdict& verdict : {cuda::find_nvrtc(places), cuda::find_nvcc(places)}) {
    CHECK(verdict.chosen() == nullptr);
    const std::string text = verdict.print();
    for (const char* part : {"none is usable", "not in CUDA_HOME", "not in conda",
                             "not in /usr/local/cuda", "Fix: "}) {
      CHECK(text.find(part) != std::string::npos);
    }
  }
}

TEST(Toolkit, PipFoldersOfBothLayoutsAreFoundNewestFirst) {
  const FakeTree tree;
  tree.add_library("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  tree.add("site/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9", "");
  tree.add_library("site/nvidia/cu13/lib/libnvrtc.so.13");
  tree.add("site/nvidia/cu13/lib/libnvrtc-builtins.so.13.2", "");
  tree.add_library("site/nvidia/cu13/lib/libnvrtc.alt.so.13");
  cuda::SearchPlaces places = empty_places();
  places.site_dirs = {tree / "site"};
  const cuda::Verdict verdict = cuda::find_nvrtc(places);
  CHECK_EQ(verdict.candidates.size(), 2u);
  CHECK_EQ(verdict.chosen()->version, 13020);
  CHECK_EQ(verdict.chosen()->origin, std::string("pip nvidia/cu13"));
  CHECK_EQ(verdict.candidates[1].version, 12090);
}

TEST(Toolkit, ADriverOfAnOlderMajorPutsItsOwnReleaseFirst) {
  const FakeTree tree;
  tree.add_library("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  tree.add("site/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9", "");
  tree.add_library("site/nvidia/cu13/lib/libnvrtc.so.13");
  tree.add("site/nvidia/cu13/lib/libnvrtc-builtins.so.13.2", "");
  cuda::SearchPlaces places = empty_places();
  places.site_dirs = {tree / "site"};
  places.driver_version = 12080;
  CHECK_EQ(cuda::find_nvrtc(places).chosen()->version, 12090);
  places.driver_version = 13000;
  CHECK_EQ(cuda::find_nvrtc(places).chosen()->version, 13020);
}

TEST(Toolkit, NamedRootsComeBeforePipAndPipBeforeDefaults) {
  const FakeTree tree;
  for (const char* root : {"home/lib64", "site/nvidia/cu13/lib", "default/lib64"}) {
    tree.add_library(std::string(root) + "/libnvrtc.so.13");
    tree.add(std::string(root) + "/libnvrtc-builtins.so.13.0", "");
  }
  cuda::SearchPlaces places = empty_places();
  places.named_roots = {{"CUDA_HOME", tree / "home"}};
  places.site_dirs = {tree / "site"};
  places.default_roots = {{"default", tree / "default"}};
  const cuda::Verdict verdict = cuda::find_nvrtc(places);
  CHECK_EQ(verdict.candidates.size(), 3u);
  CHECK_EQ(verdict.candidates[0].origin, std::string("CUDA_HOME"));
  CHECK_EQ(verdict.candidates[1].origin, std::string("pip nvidia/cu13"));
  CHECK_EQ(verdict.candidates[2].origin, std::string("default"));
}

TEST(Toolkit, AnOldNvrtcAndATextFileInItsPlaceAreRefusedWithTheReason) {
  const FakeTree tree;
  tree.add_library("old/lib64/libnvrtc.so.12");
  tree.add("old/lib64/libnvrtc-builtins.so.12.4", "");
  tree.add("text/lib64/libnvrtc.so.13", "not a library");
  cuda::SearchPlaces places = empty_places();
  places.named_roots = {{"CUDA_HOME", tree / "old"}, {"CUDA_PATH", tree / "text"}};
  const cuda::Verdict verdict = cuda::find_nvrtc(places);
  CHECK(verdict.chosen() == nullptr);
  CHECK(verdict.print().find("release 12.4 is older than 12.8") != std::string::npos);
  CHECK(verdict.print().find("not a 64-bit ELF library") != std::string::npos);
}

TEST(Toolkit, TheOverrideMayBeAFileOrItsFolder) {
  const FakeTree tree;
  const fs::path library = tree.add_library("mine/libnvrtc.so.13");
  tree.add("mine/libnvrtc-builtins.so.13.5", "");
  for (const fs::path& override_path : {library, library.parent_path()}) {
    cuda::SearchPlaces places = empty_places();
    places.nvrtc_override = override_path;
    CHECK_EQ(cuda::find_nvrtc(places).chosen()->version, 13050);
  }
}

TEST(Toolkit, NvccOnPathOfAPartialToolkitIsPassedOverForTheDefaultFolder) {
  const FakeTree tree;
  tree.add_toolkit("partial", 13000);
  fs::remove(tree / "partial/nvvm/bin/cicc");
  tree.add_toolkit("whole", 13050);
  cuda::SearchPlaces places = empty_places();
  places.path_dirs = {tree / "partial/bin"};
  places.default_roots = {{"/usr/local/cuda", tree / "whole"}};
  const cuda::Verdict verdict = cuda::find_nvcc(places);
  CHECK_EQ(verdict.chosen()->version, 13050);
  CHECK(verdict.print().find("partial toolkit") != std::string::npos);
  CHECK(verdict.print().find("cicc is missing") != std::string::npos);
}

TEST(Toolkit, AnOldNvccOnPathIsPassedOver) {
  const FakeTree tree;
  tree.add_toolkit("old", 12010);
  tree.add_toolkit("new", 13000);
  cuda::SearchPlaces places = empty_places();
  places.path_dirs = {tree / "old/bin"};
  places.default_roots = {{"default", tree / "new"}};
  const cuda::Verdict verdict = cuda::find_nvcc(places);
  CHECK_EQ(verdict.chosen()->origin, std::string("default"));
  CHECK(verdict.print().find("release 12.1 is older") != std::string::npos);
}

TEST(Toolkit, AnNvccWithoutItsExecuteBitIsRefused) {
  const FakeTree tree;
  cuda::SearchPlaces places = empty_places();
  places.nvcc_override = tree.add("nvcc", "#!/bin/sh\n");
  fs::permissions(places.nvcc_override, fs::perms::owner_read);
  CHECK_EQ(cuda::find_nvcc(places).candidates.at(0).refused, std::string("not executable"));
}

TEST(Toolkit, SiteFoldersAreReadOffLoadedFiles) {
  CHECK_EQ(cuda::detail::site_dir_of("/v/lib/python3.11/site-packages/torch/lib/libtorch.so"),
           fs::path("/v/lib/python3.11/site-packages"));
  CHECK_EQ(cuda::detail::site_dir_of("/usr/lib/python3/dist-packages/x.so"),
           fs::path("/usr/lib/python3/dist-packages"));
  CHECK(cuda::detail::site_dir_of("/usr/lib/libc.so.6").empty());
}

TEST(Toolkit, VersionsAreReadOffTextsAndRefusedWhereThereIsNone) {
  CHECK_EQ(cuda::detail::parse_version("13.0.88"), 13000);
  CHECK_EQ(cuda::detail::parse_version("12.9, V12.9.86"), 12090);
  for (const char* text : {"", "x", "13", "13.", ".5"})
    CHECK_EQ(cuda::detail::parse_version(text), 0);
}

TEST(ElfBuildId, OfThisProgramIsFoundAndOfOtherFilesStoodInFor) {
  const FakeTree tree;
  const fs::path text = tree.add("text", "hello");
  CHECK(!cuda::elf_build_id(text));
  const std::string identity = cuda::file_identity(text);
  CHECK(identity.find("size 5 ends ") == 0);
  tree.add("text", "hellp");
  CHECK(cuda::file_identity(text) != identity);
  CHECK(cuda::is_elf64("/proc/self/exe"));
  CHECK(cuda::file_identity(tree / "absent").empty());
  // A header that promises segments beyond the file's end is no crash.
  CHECK(!cuda::elf_build_id(tree.add_library("short.so")));
}

}  // namespace

CHECK_MAIN()
