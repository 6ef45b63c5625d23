#include "samples/cpp/encoder/sentences.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string_view>

namespace encoder {
namespace {

constexpr double kMedianWords = 18;
constexpr double kLogDeviation = 0.65;
constexpr double kFewestWords = 3;
constexpr double kMaxWords = 120;

// Uniform between 0 and 1, both excluded. Not a standard distribution, because those differ between
// libraries.
double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) / static_cast<double>(std::uint64_t{1} << 53);
}

// The Box–Muller method.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

std::size_t draw_length(std::mt19937_64& random) {
  const double words = kMedianWords * std::exp(kLogDeviation * normal(random));
  return static_cast<std::size_t>(std::clamp(std::round(words), kFewestWords, kMaxWords));
}

// For each word, the sum of 1 / (rank + 1) up to it.
std::vector<double> zipf_sums(std::size_t words) {
  std::vector<double> sums;
  sums.reserve(words);
  double sum = 0;
  for (std::size_t rank = 0; rank < words; ++rank) {
    sum += 1.0 / static_cast<double>(rank + 1);
    sums.push_back(sum);
  }
  return sums;
}

std::size_t draw_rank(const std::vector<double>& sums, std::mt19937_64& random) {
  const double point = uniform(random) * sums.back();
  return static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end() - 1, point) -
                                  sums.begin());
}

}  // namespace

std::vector<std::string> syllables() {
  constexpr std::string_view kConsonants = "bdfgklmnprstvz";
  constexpr std::string_view kVowels = "aeiou";
  std::vector<std::string> all;
  for (const char consonant : kConsonants) {
    for (const char vowel : kVowels) all.push_back({consonant, vowel});
  }
  return all;
}

// Words are numbers written in syllables: one for the first words, then two, then three.
std::vector<std::string> make_lexicon(std::size_t words) {
  const std::vector<std::string> digits = syllables();
  std::vector<std::string> lexicon;
  lexicon.reserve(words);
  for (std::size_t rank = 0; rank < words; ++rank) {
    std::string word;
    for (std::size_t rest = rank + 1; rest > 0; rest = (rest - 1) / digits.size())
      word += digits[(rest - 1) % digits.size()];
    lexicon.push_back(std::move(word));
  }
  return lexicon;
}

std::vector<std::string> make_sentences(std::size_t count, const std::vector<std::string>& lexicon,
                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<double> sums = zipf_sums(lexicon.size());
  std::vector<std::string> sentences(count);
  for (std::string& sentence : sentences) {
    const std::size_t words = draw_length(random);
    for (std::size_t i = 0; i < words; ++i) {
      if (i > 0) sentence += ' ';
      sentence += lexicon[draw_rank(sums, random)];
    }
  }
  return sentences;
}

}  // namespace encoder
