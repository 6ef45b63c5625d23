#include "viewer-export/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace stepscope {
namespace {

std::string microseconds(std::int64_t ns) {
  char text[kMicrosecondsRoom];
  return {text, write_microseconds(text, ns)};
}

std::string integer(std::uint64_t value) {
  char text[kIntegerRoom];
  return {text, write_integer(text, value)};
}

TEST(JsonText, MicrosecondsHaveExactlyThreeDecimals) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(1), "0.001");
  EXPECT_EQ(microseconds(99), "0.099");
  EXPECT_EQ(microseconds(1'000), "1.000");
  EXPECT_EQ(microseconds(12'345'678), "12345.678");
  EXPECT_EQ(microseconds(std::numeric_limits<std::int64_t>::max()), "9223372036854775.807");
}

TEST(JsonText, IntegersAreWrittenAtEveryLength) {
  std::mt19937_64 random(1);
  for (int bits = 1; bits <= 64; ++bits) {
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t value = random() >> (64 - bits);
      EXPECT_EQ(integer(value), std::to_string(value));
    }
  }
  for (std::uint64_t power = 1; power <= 1'000'000'000'000'000'000; power *= 10) {
    EXPECT_EQ(integer(power), std::to_string(power));
    EXPECT_EQ(integer(power - 1), std::to_string(power - 1));
  }
}

TEST(JsonText, IntegersThatADoubleWouldRoundAreQuoted) {
  const std::int64_t exact = std::int64_t{1} << 53;
  EXPECT_EQ(json_integer(exact), "9007199254740992");
  EXPECT_EQ(json_integer(exact + 1), "\"9007199254740993\"");
  EXPECT_EQ(json_integer(-exact - 1), "\"-9007199254740993\"");
}

TEST(JsonText, NumbersAreNeverInfiniteNorInExponentForm) {
  EXPECT_EQ(json_number(0.631), "0.631");
  EXPECT_EQ(json_number(2), "2");
  EXPECT_EQ(json_number(-0.0), "0");
  EXPECT_EQ(json_number(-1e-9), "0");
  EXPECT_EQ(json_number(1e21), "1000000000000000000000");
  EXPECT_EQ(json_number(std::nan("")), "null");
  EXPECT_EQ(json_number(-INFINITY), "null");
  EXPECT_TRUE(nlohmann::json::accept(json_number(-std::numeric_limits<double>::max())));
}

TEST(JsonText, EscapesWhatJsonNeedsAndNothingElse) {
  EXPECT_EQ(json_escaped("a\"b\\c/</script>"), R"(a\"b\\c/</script>)");
  EXPECT_EQ(json_escaped(std::string_view("\0\x01\n\t\x1f", 5)), "\uFFFD\\u0001\\n\\t\\u001f");
  EXPECT_EQ(json_escaped("\U0001F525 \u202e"), "\U0001F525 \u202e");  // raw: no \ud83d
}

TEST(JsonText, IllFormedUtf8IsReplaced) {
  EXPECT_EQ(json_escaped("a\xff"), "a\uFFFD");
  EXPECT_EQ(json_escaped("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
}

TEST(JsonText, AnyBytesBecomeAStringThatParsesBack) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const auto parsed = nlohmann::json::parse(json_quoted(bytes), nullptr, false);
    ASSERT_TRUE(parsed.is_string());
    // What parses back is clean, so it survives a second time as it is.
    const auto text = parsed.get<std::string>();
    EXPECT_EQ(nlohmann::json::parse(json_quoted(text)).get<std::string>(), text);
  }
}

TEST(JsonText, OnlyArraysOfIntegersAreTakenForShapes) {
  for (const char* yes : {"[]", "[[]]", "[1]", "[[64,784],[128]]", "[-1,0,[10]]"}) {
    EXPECT_TRUE(is_json_integer_array(yes)) << yes;
    EXPECT_TRUE(nlohmann::json::accept(yes)) << yes;
  }
  for (const char* no : {"", "1", "[", "]", "[1", "[1]]", "[1][2]", "[,]", "[1,]", "[1 2]", "[01]",
                         "[--1]", "[-]", "[1.5]", "[a]", "[\"]\"]", "[[1][2]]", "[1],", "{}"}) {
    EXPECT_FALSE(is_json_integer_array(no)) << no;
  }
}

}  // namespace
}  // namespace stepscope
