// Keys: each part counts, and none can pass for another.
#include <deep_jit/runtime/key.hpp>

#include <set>
#include <string>

#include "tests/support/check.hpp"

using deep_jit::key::BuildParts;
using deep_jit::key::RequestParts;

TEST(Key, EachPartOfARequestChangesItsDigest) {
  const RequestParts base{"host", "c0ffee", "x86-64-v3", "level=3\n", "sig"};
  std::set<std::string> digests = {base.digest()};
  for (auto part : {&RequestParts::backend, &RequestParts::content, &RequestParts::target,
                    &RequestParts::options, &RequestParts::extra_signature}) {
    RequestParts changed = base;
    changed.*part += "x";
    digests.insert(changed.digest());
  }
  CHECK_EQ(digests.size(), std::size_t{6});
  CHECK_EQ(base.digest(), RequestParts(base).digest());
  CHECK_EQ(base.digest().size(), std::size_t{64});
}

TEST(Key, PartsCannotFlowIntoEachOther) {
  const RequestParts left{"host", "ab", "c", "", ""}, right{"host", "a", "bc", "", ""};
  CHECK(left.digest() != right.digest());
  const RequestParts injected{"host", "a\ntarget=t", "", "", ""}, plain{"host", "a", "t", "", ""};
  CHECK(injected.digest() != plain.digest());
}

TEST(Key, RequestAndBuildOfEqualTextDiffer) {
  CHECK(BuildParts({"a", "b"}).digest() != BuildParts({"b", "a"}).digest());
  CHECK(RequestParts{}.digest() != BuildParts{}.digest());
}

TEST(Key, TextNamesEveryPart) {
  const RequestParts parts{"host", "c0ffee", "x86-64-v3", "level=3", "sig"};
  CHECK_EQ(parts.to_text(),
           std::string("backend=host\ncontent=c0ffee\ntarget=x86-64-v3\noptions=level=3\n"
                       "extra_signature=sig\n"));
  CHECK_EQ(BuildParts({"id", "-O3"}).to_text(), std::string("compiler=id\nflags=-O3\n"));
}

CHECK_MAIN()
