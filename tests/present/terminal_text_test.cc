// Text that lines up in a terminal.
#include "present/terminal_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope {
namespace {

TEST(TerminalText, CountsCharactersNotBytes) {
  EXPECT_EQ(width_of("µs ×"), 4u);
  EXPECT_EQ(pad_right("µ", 3), "µ  ");
  EXPECT_EQ(pad_left("µ", 3), "  µ");
  EXPECT_EQ(cut("aten::addmm", 6), "aten:…");
  EXPECT_EQ(cut("äöü", 3), "äöü");
  EXPECT_EQ(cut("a\tb", 3), "a?b");
}

TEST(TerminalText, CountsTheColumnsOfWideCharacters) {
  EXPECT_EQ(width_of("漢字 한글 カナ ｆ 🚀"), 20u);
  EXPECT_EQ(width_of("ﾊﾝ → 1.00 × ┃█"), 14u) << "ambiguous and half-width ones are narrow";
  EXPECT_EQ(width_of("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(pad_right("漢字", 5), "漢字 ");
  EXPECT_EQ(pad_left("漢字", 5), " 漢字");
  EXPECT_EQ(cut("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(cut("漢字漢字", 7), "漢字漢…");
  EXPECT_EQ(cut("漢字漢字", 6), "漢字…");
  EXPECT_EQ(cut("漢字", 1), "…");
  EXPECT_EQ(wrap("漢字 漢字", 8), (std::vector<std::string>{"漢字", "漢字"}));
  EXPECT_EQ(width_of("\xE6\xBC"), 1u) << "no valid character";
}

TEST(TerminalText, BarsCountInEighths) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 3), "█▌");
  EXPECT_EQ(bar(7, 2), "██");
}

TEST(TerminalText, WrapsAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("", 7), std::vector<std::string>{});
  // A unit stays with its number, a word that only looks like one with nothing.
  EXPECT_EQ(wrap("waits 15.5 % of it", 11), (std::vector<std::string>{"waits", "15.5 % of", "it"}));
  EXPECT_EQ(wrap("it took 12 ms, so", 11), (std::vector<std::string>{"it took", "12 ms, so"}));
  EXPECT_EQ(wrap("that s it", 6), (std::vector<std::string>{"that s", "it"}));
  EXPECT_EQ(wrap("7 steps", 3), (std::vector<std::string>{"7", "st…"}));
}

}  // namespace
}  // namespace stepscope
