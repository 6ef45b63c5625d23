// What of a name reaches a person.
#include "analyzer/printable.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace stepscope {
namespace {

std::string utf8(char32_t code) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  const auto c = static_cast<unsigned>(code);
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000)
    return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)),
          byte(0x80 | (c & 0x3F))};
}

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "aten::add", "äöü € 漢字 עברית 🔥 ×·…", " two  blanks "}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

// All of C0 and C1, and each end of each range of what has no picture or turns text.
TEST(Printable, ReplacesWhatATerminalObeysOrDoesNotShow) {
  for (char32_t c = 1; c < 0xA0; ++c) {
    const bool control = c < 0x20 || c >= 0x7F;
    EXPECT_EQ(printable(utf8(c)), control ? "?" : utf8(c)) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c :
       {0xADU,   0x34FU,  0x61CU,  0x115FU, 0x1160U, 0x180BU,  0x180EU,  0x200BU,  0x200EU, 0x200FU,
        0x2028U, 0x2029U, 0x202AU, 0x202EU, 0x2060U, 0x2066U,  0x2069U,  0x206FU,  0x3164U, 0xFE00U,
        0xFE0FU, 0xFEFFU, 0xFFA0U, 0xFFF9U, 0xFFFBU, 0x1D173U, 0xE0001U, 0xE007FU, 0xE0FFFU}) {
    EXPECT_EQ(printable("a" + utf8(c) + "b"), "a?b") << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : {0xA0U, 0xAEU, 0x200AU, 0x2010U, 0x2027U, 0x202FU, 0x2070U, 0xFFFCU,
                           0xFFFDU, 0x1F525U, 0xE1000U, 0x10FFFDU}) {
    EXPECT_EQ(printable(utf8(c)), utf8(c)) << static_cast<std::uint32_t>(c);
  }
}

TEST(Printable, ReplacesWhatIsNoUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("a\x9B"
                      "31m"),
            "a" + bad + "31m");                                        // a lone C1 byte
  EXPECT_EQ(printable("\xC0\x9B"), bad + bad);                         // overlong ESC
  EXPECT_EQ(printable("\xE0\x80\x9B"), bad + bad + bad);               // longer still
  EXPECT_EQ(printable("\xED\xA0\x80"), bad + bad + bad);               // a surrogate
  EXPECT_EQ(printable("\xF0\x9F"), bad);                               // cut off
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a" + bad + "b");  //
}

TEST(PrintableJson, KeepsTheValues) {
  std::string text = "\"\\\n\t";
  for (const char32_t c : {0x1BU, 0x7FU, 0x9BU, 0x202EU, 0xFEFFU, 0xE0041U, 0x1F525U})
    text += utf8(c);
  const nlohmann::json document = {{text, {text, 1.5, nullptr}}};
  const std::string printed = printable_json(document.dump(2));
  EXPECT_EQ(nlohmann::json::parse(printed), document);
  EXPECT_NE(printed.find("\\u202e\\ufeff\\udb40\\udc41"), std::string::npos) << printed;
  std::string one_line = printed;
  std::erase(one_line, '\n');
  EXPECT_EQ(printable(one_line), one_line);
}

}  // namespace
}  // namespace stepscope
