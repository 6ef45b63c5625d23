#include "store/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

using namespace std::string_literals;

struct Case {
  std::string text;
  std::string clean;  // with '?' for each U+FFFD
};

std::string marked(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '?' ? "\xEF\xBF\xBD"s : std::string(1, c);
  return out;
}

class Utf8 : public ::testing::TestWithParam<Case> {};

TEST_P(Utf8, ReplacesEachMaximalSubpart) {
  const auto& [text, clean] = GetParam();
  EXPECT_EQ(clean_utf8(text), marked(clean));
  EXPECT_EQ(is_clean_utf8(text), text == marked(clean));
  EXPECT_TRUE(is_clean_utf8(clean_utf8(text)));
}

TEST(Utf8Offset, IsThatOfTheSameCharacter) {
  const std::string text = "a\xFF{\xE2\x82(\xC2\xA7)";
  const std::string clean = clean_utf8(text);
  for (const char c : {'a', '{', '(', ')'}) {
    EXPECT_EQ(offset_before_cleaning(text, clean.find(c)), text.find(c)) << c;
  }
  EXPECT_EQ(offset_before_cleaning(text, clean.find("\xA7")), text.find("\xC2"));
  EXPECT_EQ(offset_before_cleaning(text, clean.size()), text.size());
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Utf8,
    ::testing::Values(Case{"", ""}, Case{"aten::add", "aten::add"}, Case{"\x7F", "\x7F"},
                      Case{"a\0b"s, "a?b"}, Case{"\0"s, "?"},
                      // The first and the last character of each length.
                      Case{"\xC2\x80", "\xC2\x80"}, Case{"\xDF\xBF", "\xDF\xBF"},
                      Case{"\xE0\xA0\x80", "\xE0\xA0\x80"}, Case{"\xEF\xBF\xBF", "\xEF\xBF\xBF"},
                      Case{"\xF0\x90\x80\x80", "\xF0\x90\x80\x80"},
                      Case{"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
                      // Around the surrogates.
                      Case{"\xED\x9F\xBF", "\xED\x9F\xBF"}, Case{"\xEE\x80\x80", "\xEE\x80\x80"},
                      Case{"\xED\xA0\x80", "???"}, Case{"\xED\xBF\xBF", "???"},
                      // Overlong forms and what lies beyond U+10FFFF.
                      Case{"\xC0\x80", "??"}, Case{"\xC1\xBF", "??"}, Case{"\xE0\x9F\xBF", "???"},
                      Case{"\xF0\x8F\xBF\xBF", "????"}, Case{"\xF4\x90\x80\x80", "????"},
                      Case{"\xF5\x80\x80\x80", "????"}, Case{"\xFE\xFF", "??"},
                      // Cut off: one mark for what there was of the character.
                      Case{"\x80", "?"}, Case{"\xC2", "?"}, Case{"\xE2\x82", "?"},
                      Case{"\xF0\x9F\x98", "?"}, Case{"\xE2\x82z", "?z"},
                      Case{"\xF0\x9F\x98\xF0\x9F\x98\x80", "?\xF0\x9F\x98\x80"},
                      // The example of the Unicode standard, table 3-8.
                      Case{"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a???b?c??d"}));

}  // namespace
}  // namespace stepscope
