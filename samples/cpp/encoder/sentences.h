// Synthetic sentences with the word frequencies and sentence lengths of written English.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encoder {

// The words of a made-up language by rank: word 0 is the most frequent and among the shortest. The
// same on every machine.
std::vector<std::string> make_lexicon(std::size_t words);

// The syllables that words are built from; a tokenizer can spell any word with them.
std::vector<std::string> syllables();

// `count` sentences of words from `lexicon`, separated by spaces, all lower case.
//
// A word of rank r is drawn in proportion to 1 / (r + 1) (Zipf's law). The number of words is
// log-normal, as sentence lengths are (C. B. Williams, Biometrika 31, 1940), with a median of 18
// and a standard deviation of the logarithm of 0.65, from 3 to 120: half of them have 12 to 28
// words, one in a hundred more than 80.
std::vector<std::string> make_sentences(std::size_t count, const std::vector<std::string>& lexicon,
                                        std::uint64_t seed);

}  // namespace encoder
