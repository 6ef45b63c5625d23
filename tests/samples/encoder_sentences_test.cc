#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "samples/cpp/encoder/sentences.h"

namespace encoder {
namespace {

std::size_t words_of(const std::string& sentence) {
  return 1 + static_cast<std::size_t>(std::count(sentence.begin(), sentence.end(), ' '));
}

TEST(Lexicon, HasEachWordOnceAndTheFrequentOnesAreShort) {
  const std::vector<std::string> lexicon = make_lexicon(20'000);
  EXPECT_EQ(std::set<std::string>(lexicon.begin(), lexicon.end()).size(), 20'000U);
  EXPECT_EQ(lexicon.front().size(), 2U);
  EXPECT_EQ(lexicon.back().size(), 6U);
}

TEST(Sentences, AreTheSameForTheSameSeed) {
  const std::vector<std::string> lexicon = make_lexicon(1000);
  EXPECT_EQ(make_sentences(50, lexicon, 7), make_sentences(50, lexicon, 7));
  EXPECT_NE(make_sentences(50, lexicon, 7), make_sentences(50, lexicon, 8));
}

TEST(Sentences, AreAsLongAsTheHeaderSays) {
  std::vector<std::size_t> lengths;
  for (const std::string& sentence : make_sentences(20'000, make_lexicon(1000), 1))
    lengths.push_back(words_of(sentence));
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 3U);
  EXPECT_LE(lengths.back(), 120U);
  EXPECT_NEAR(static_cast<double>(lengths[5'000]), 12, 1);
  EXPECT_NEAR(static_cast<double>(lengths[10'000]), 18, 1);
  EXPECT_NEAR(static_cast<double>(lengths[15'000]), 28, 1);
  EXPECT_NEAR(static_cast<double>(lengths[19'800]), 82, 6);
}

// The first word has to come as often as the second two times over, and so on.
TEST(Sentences, UseWordsByZipfsLaw) {
  const std::vector<std::string> lexicon = make_lexicon(100);
  std::vector<double> counts(100);
  for (const std::string& sentence : make_sentences(5'000, lexicon, 1)) {
    for (std::size_t begin = 0; begin < sentence.size();) {
      const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
      const auto word =
          std::find(lexicon.begin(), lexicon.end(), sentence.substr(begin, end - begin));
      ASSERT_NE(word, lexicon.end());
      ++counts[static_cast<std::size_t>(word - lexicon.begin())];
      begin = end + 1;
    }
  }
  EXPECT_NEAR(counts[0] / counts[1], 2, 0.15);
  EXPECT_NEAR(counts[0] / counts[9], 10, 1);
}

}  // namespace
}  // namespace encoder
