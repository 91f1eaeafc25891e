// str, hash, uuid, json, exception, no_ref_ptr: values against published or hand-made references.

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/json.hpp>
#include <deep_jit/utils/no_ref_ptr.hpp>
#include <deep_jit/utils/str.hpp>
#include <deep_jit/utils/uuid.hpp>

#include "tests/support/check.hpp"
#include "tests/support/comma_locale.hpp"

using deep_jit::json;
namespace str = deep_jit::str;

TEST(Str, FormatsTheCommonSpecsAsStdFormatDoes) {
  CHECK_EQ(str::format("{} {} {}", 1, "two", std::string("3")), "1 two 3");
  CHECK_EQ(str::format("{1}{0}{{}}", 1, 2), "21{}");
  CHECK_EQ(str::format("[{:>5}][{:<5}][{:^5}][{:*^5}]", 1, 2, 3, "x"),
           "[    1][2    ][  3  ][**x**]");
  CHECK_EQ(str::format("{:05} {:+} {:#x} {:#010x} {:X} {:b} {:o}", -42, 7, 255, 255, 255, 5, 8),
           "-0042 +7 0xff 0x000000ff FF 101 10");
  CHECK_EQ(str::format("{:.3f} {:.2e} {:g} {:8.2f}|", 3.14159, 12345.678, 0.0001, 2.5),
           "3.142 1.23e+04 0.0001     2.50|");
  CHECK_EQ(str::format("{} {} {}", 0.1f, 0.1, 1e300), "0.1 0.1 1e+300");
  CHECK_EQ(str::format("{} {:d} {} {:c}", true, true, 'c', 65), "true 1 c A");
  CHECK_EQ(str::format("{:.2} {:{}}|", "abcdef", 1, 4), "ab    1|");
  CHECK_EQ(str::format("{} {}", INT64_MIN, UINT64_MAX),
           "-9223372036854775808 18446744073709551615");
  CHECK_EQ(str::format("{}", std::filesystem::path("/a b")), "/a b");
  CHECK_EQ(str::format("{}", static_cast<const char*>(nullptr)), "(null)");
}

TEST(Str, MalformedPlaceholdersStayAsTheyStand) {
  CHECK_EQ(str::format("{} {}", 1), "1 {}");
  CHECK_EQ(str::format("{:q} } {", 1), "{:q} } {");
  CHECK_EQ(str::format("{0:99999999999}", 1), "{0:99999999999}");
}

TEST(Str, NumbersIgnoreACommaLocale) {
  const dj_test::CommaLocale locale;
  if (!locale.is_active()) SKIP(dj_test::CommaLocale::kWhyNot);
  CHECK_EQ(str::number(1234.5), "1234.5");
  CHECK_EQ(str::format("{:.1f}", 0.5f), "0.5");
  CHECK_EQ(json(2.5).dump(), "2.5");
}

TEST(Str, JoinsAndSplits) {
  CHECK_EQ(str::join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  std::vector<std::string> parts;
  str::split("a::b", ':', [&](std::string_view part) { parts.emplace_back(part); });
  CHECK_EQ(str::join(parts, "|"), "a||b");
}

TEST(Sha256, MatchesThePublishedVectors) {
  using deep_jit::sha256_hex;
  CHECK_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK_EQ(sha256_hex(std::string(1000000, 'a')),
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWholeAtEveryLength) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'q');
    deep_jit::Sha256 hash;
    for (std::size_t at = 0; at < size; at += 7) hash.update(std::string_view(text).substr(at, 7));
    CHECK_EQ(hash.hex_digest(), deep_jit::sha256_hex(text));
  }
}

// The vectors above take one of the two, whichever the machine has.
TEST(Sha256, PlainCodeAndInstructionsAgree) {
  std::array<unsigned char, 5 * 64> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = static_cast<unsigned char>(i * i + 31 * i + 7);
  const std::array<std::uint32_t, 8> start = {1, 0xffffffff, 3, 0x80000000, 5, 6, 7, 8};
  for (std::size_t count = 0; count <= 5; ++count) {
    auto plain = start;
    for (std::size_t i = 0; i < count; ++i)
      deep_jit::detail::compress_sha256(plain, blocks.data() + 64 * i);
    CHECK_EQ(plain == start, count == 0);
#if defined(__x86_64__)
    if (!deep_jit::detail::sha256_x86::is_supported()) continue;
    auto fast = start;
    deep_jit::detail::sha256_x86::compress(fast, blocks.data(), count,
                                           deep_jit::detail::kSha256Rounds);
    CHECK(fast == plain);
#endif
  }
}

TEST(Sha256, FieldsCannotRunIntoEachOther) {
  const auto digest = [](std::string_view a, std::string_view b) {
    deep_jit::Sha256 hash;
    hash.update_field(a);
    hash.update_field(b);
    return hash.hex_digest();
  };
  CHECK(digest("ab", "c") != digest("a", "bc"));
  CHECK(digest("", "x") != digest("x", ""));
}

TEST(FNV1a, MatchesThePublishedVector) {
  deep_jit::FNV1a hash;
  hash.update("a");
  CHECK_EQ(hash.hex_digest(), "af63dc4c8601ec8c");
}

TEST(Uuid, IsUniqueAndThirtySixLong) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(deep_jit::get_uuid());
  CHECK_EQ(seen.size(), 1000);
  CHECK_EQ(seen.begin()->size(), 36);
}

TEST(Json, DumpsNestedValuesInInsertionOrder) {
  json object = json::object();
  object["z"] = 1;
  object["a"] = json::array({true, nullptr, "x", 2.5, -3});
  object["o"]["k"] = UINT64_MAX;
  CHECK_EQ(object.dump(), R"({"z":1,"a":[true,null,"x",2.5,-3],"o":{"k":18446744073709551615}})");
  CHECK_EQ(json::array({1}).dump(2), "[\n  1\n]");
  CHECK_EQ(json::array().dump() + json::object().dump() + json().dump(), "[]{}null");
}

TEST(Json, EscapesAndRepairsText) {
  CHECK_EQ(json("a\"\\\n\t\x01").dump(), R"("a\"\\\n\t\u0001")");
  CHECK_EQ(json("\xff\xc3\xa4\xed\xa0\x80").dump(), "\"\\ufffd\xc3\xa4\\ufffd\\ufffd\\ufffd\"");
  CHECK_EQ(json(1.0 / 0.0).dump(), "null");
}

TEST(Exception, NamesItsKindAndOnlyInternalOnesTheirLine) {
  CHECK_THROWS(DJ_FAIL(kToolchain, "no {}", "g++"), kToolchain, "[Toolchain] no g++");
  CHECK_THROWS(DJ_PANIC("odd {}", 1), kInternal, "text_test.cpp:");
  try {
    DJ_HOST_ASSERT(1 + 1 == 3, "sum {}", 2);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "1 + 1 == 3");
    CHECK_EQ(error.message(), "sum 2");
  }
  const bool is_false = false;
  CHECK_THROWS([&] { DJ_HOST_ASSERT(is_false); }(), kInternal, "is_false");
}

TEST(NoRefPtr, IsRecognisedByDerivation) {
  struct Mine : deep_jit::NoRefPtr {};
  static_assert(deep_jit::is_no_ref_ptr<const Mine&> && !deep_jit::is_no_ref_ptr<int*>);
  CHECK(Mine().ptr == nullptr);
}

CHECK_MAIN()
