// Where compilers are looked for, what is said about it, and which one is chosen.
#include <deep_jit/backend/ascend/toolkit.hpp>

#include <deep_jit/backend/ascend/compiler_choice.hpp>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;

// A folder that is gone with its owner, filled with files that look like toolkits.
class FakeTree {
 public:
  FakeTree() {
    std::string name = (fs::temp_directory_path() / "dj_cann_XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~FakeTree() { fs::remove_all(root_); }
  fs::path operator/(const std::string& below) const { return root_ / below; }

  fs::path add(const std::string& below, const std::string& text = "") const {
    const fs::path path = root_ / below;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  fs::path add_program(const std::string& below) const {
    const fs::path path = add(below, "#!/bin/sh\n");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

 private:
  fs::path root_;
};

ascend::SearchPlaces places_of(const FakeTree& tree, const std::string& machine = "x86_64") {
  ascend::SearchPlaces places;
  places.named_roots = {{"ASCEND_HOME_PATH", tree / "home"}};
  places.default_roots = {{"the default folder", tree / "default"}};
  places.machine = machine;
  return places;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(AscendToolkit, NothingAnywhereIsSaidWithEveryPlaceAndAWayOut) {
  const FakeTree tree;
  const auto verdict = ascend::find_toolkits(places_of(tree));
  CHECK(verdict.bisheng() == nullptr && verdict.aclrtc() == nullptr);
  for (const char* part : {"bisheng: none is usable", "not in ASCEND_HOME_PATH",
                           "not in the default folder", "Fix: install CANN"})
    CHECK(has(verdict.print(), part));
}

TEST(AscendToolkit, LayoutsOfBothMachinesAndOfOlderReleasesAreFound) {
  const char* layouts[][4] = {
      {"x86_64", "bin/", "x86_64-linux/asc/include/adv_api",
       "x86_64-linux/ascend_toolkit_install.info"},
      {"aarch64", "bin/", "aarch64-linux/asc/include/adv_api",
       "aarch64-linux/ascend_toolkit_install.info"},
      {"aarch64", "compiler/ccec_compiler/bin/", "asc/include/adv_api", "compiler/version.info"},
      {"x86_64", "tools/bisheng_compiler/bin/", "x86_64-linux/ascendc/include/highlevel_api",
       "version.info"},
  };
  for (const auto& layout : layouts) {
    const FakeTree tree;
    const std::string home = "home/";
    const fs::path bisheng = tree.add_program(home + layout[1] + "bisheng");
    const fs::path linker = tree.add_program(home + layout[1] + "ld.lld");
    const fs::path header = tree.add(home + layout[2] + "/x.h");
    tree.add(home + layout[3], "package_name=x\nVersion=8.2.RC1\n");
    const auto verdict = ascend::find_toolkits(places_of(tree, layout[0]));
    CHECK(verdict.bisheng() != nullptr);
    if (verdict.bisheng() == nullptr) continue;
    CHECK_EQ(verdict.bisheng()->bisheng, bisheng);
    CHECK_EQ(verdict.bisheng()->linker, linker);
    CHECK_EQ(verdict.bisheng()->include_dirs.at(0), header.parent_path());
    CHECK_EQ(verdict.bisheng()->version, std::string("8.2.RC1"));
  }
}

TEST(AscendToolkit, TheOtherMachinesHalfIsNotTaken) {
  const FakeTree tree;
  tree.add_program("home/bin/bisheng");
  tree.add_program("home/bin/ld.lld");
  tree.add("home/aarch64-linux/asc/include/adv_api/x.h");
  CHECK(ascend::find_toolkits(places_of(tree, "x86_64")).bisheng()->include_dirs.empty());
}

TEST(AscendToolkit, PartialToolkitsArePassedOverWithTheReason) {
  const FakeTree tree;
  tree.add_program("home/bin/bisheng");
  tree.add_program("default/bin/bisheng");
  tree.add_program("default/bin/ld.lld");
  auto verdict = ascend::find_toolkits(places_of(tree));
  CHECK_EQ(verdict.bisheng()->root, tree / "default");
  CHECK(has(verdict.print(), "it has no ld.lld"));
  fs::permissions(tree / "default/bin/bisheng", fs::perms::owner_read);
  verdict = ascend::find_toolkits(places_of(tree));
  CHECK(verdict.bisheng() == nullptr);
  CHECK(has(verdict.print(), "is not executable"));
}

TEST(AscendToolkit, ABishengThatIsNamedComesFirstWithTheRestOfItsToolkit) {
  const FakeTree tree;
  for (const char* root : {"mine", "home"}) {
    tree.add_program(std::string(root) + "/bin/bisheng");
    tree.add_program(std::string(root) + "/bin/ld.lld");
  }
  tree.add("mine/x86_64-linux/asc/include/adv_api/x.h");
  auto places = places_of(tree);
  places.bisheng_override = tree / "mine/bin/bisheng";
  const auto verdict = ascend::find_toolkits(places);
  CHECK_EQ(verdict.bisheng()->origin, std::string("JIT_BISHENG_COMPILER"));
  CHECK_EQ(verdict.bisheng()->linker, tree / "mine/bin/ld.lld");
  CHECK_EQ(verdict.bisheng()->include_dirs.size(), 1u);
}

TEST(CompilerChoice, BishengIsFirstAclrtcServesWhereThereIsNoneAndAWishWins) {
  const AscendDir dir;
  const Env env("ASCT");
  CHECK_EQ(ascend::CompilerChoice(env).get()->name(), std::string("bisheng"));
  setenv("ASCT_JIT_COMPILER", "aclrtc", 1);
  CHECK_EQ(ascend::CompilerChoice(env).get()->name(), std::string("aclrtc"));
  setenv("ASCT_JIT_COMPILER", "nvcc", 1);
  CHECK_THROWS(ascend::CompilerChoice(env).get(), kInvalidArgument, "COMPILER_NAME");
  unsetenv("ASCT_JIT_COMPILER");
  ascend::CompilerChoice choice(env);
  CHECK(has(choice.report(), "bisheng: " + (dir.toolkit() / "bin/bisheng").string()));
  fs::remove(dir.toolkit() / "bin/ld.lld");
  CHECK_EQ(ascend::CompilerChoice(env).get()->name(), std::string("aclrtc"));
  setenv("ASCT_JIT_COMPILER", "bisheng", 1);
  CHECK_THROWS(ascend::CompilerChoice(env).get(), kToolchain, "it has no ld.lld");
}

TEST(CompilerChoice, AToolkitThatAppearsLaterIsFound) {
  const AscendDir dir;
  const fs::path away = dir.path() / "away";
  fs::rename(dir.toolkit(), away);
  ascend::CompilerChoice choice{Env("ASCT")};
  CHECK_THROWS(choice.get(), kToolchain, "COMPILER_PRESENT");
  fs::rename(away, dir.toolkit());
  CHECK_EQ(choice.get()->name(), std::string("bisheng"));
}

TEST(CompilerChoice, AnAclrtcThatDoesNotLoadIsSaid) {
  const AscendDir dir;
  fs::remove(dir.toolkit() / "bin/bisheng");
  fs::remove(dir.toolkit() / "lib64/libacl_rtc.so");
  dir.write("cann/lib64/libacl_rtc.so", "not a library");
  CHECK_THROWS(ascend::CompilerChoice(Env("ASCT")).get(), kToolchain, "ACLRTC_LOADS");
}

CHECK_MAIN()
