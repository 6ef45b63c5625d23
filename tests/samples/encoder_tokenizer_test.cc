#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples/cpp/encoder/tokenizer.h"

namespace encoder {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kNoLimit = 100;

// Words 4 ("bada") and 5 ("ba"); pieces "ba" (known already at a word's beginning), "da", "dada".
// Each piece has one number at the beginning of a word and another inside it.
Tokenizer small() { return Tokenizer({"bada", "ba"}, {"ba", "da", "dada"}); }

TEST(Tokenizer, TakesAWordItKnowsAsOne) {
  EXPECT_THAT(small().encode("bada ba", kNoLimit), ElementsAre(kClassify, 4, 5, kSeparate));
}

TEST(Tokenizer, CutsAnUnknownWordIntoTheLongestPieces) {
  const Tokenizer tokenizer = small();
  const std::vector<TokenId> tokens = tokenizer.encode("badada", kNoLimit);
  ASSERT_EQ(tokens.size(), 4U);  // bada + da, not ba + dada
  EXPECT_EQ(tokens[1], 4);
  EXPECT_NE(tokens[2], tokenizer.encode("da", kNoLimit)[1]) << "inside a word it is another piece";
}

TEST(Tokenizer, KnowsNothingOfAWordThatNoPieceSpells) {
  EXPECT_THAT(small().encode("baxda ba", kNoLimit), ElementsAre(kClassify, kUnknown, 5, kSeparate));
}

TEST(Tokenizer, OfNothingMakesTheTwoMarks) {
  EXPECT_THAT(small().encode("", kNoLimit), ElementsAre(kClassify, kSeparate));
  EXPECT_THAT(small().encode("  ", kNoLimit), ElementsAre(kClassify, kSeparate));
}

TEST(Tokenizer, CutsWhatIsTooLong) {
  EXPECT_THAT(small().encode("ba ba ba ba", 4), ElementsAre(kClassify, 5, 5, kSeparate));
}

TEST(Tokenizer, NumbersItsVocabularyWithoutGaps) {
  // Four marks, two words; three pieces inside words and two at their beginning, "ba" being a word.
  EXPECT_EQ(small().vocabulary_size(), 4 + 2 + 3 + 2);
}

}  // namespace
}  // namespace encoder
