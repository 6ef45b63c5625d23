// Which sentences the model processes together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace encoder {

enum class Mode {
  kSingle,  // each sentence on its own: no padding, one call per sentence
  kBatch,   // a given number at a time
  kFull,    // all at once: one call, as wide as the longest sentence
};

using Group = std::vector<std::size_t>;  // indices of sentences

// Groups all sentences, in their order or `sorted` from long to short, so that the sentences of a
// group have similar lengths. `lengths` need only be proportional to the true ones (characters will
// do). `batch`: for Mode::kBatch, at least 1.
std::vector<Group> plan_batches(const std::vector<std::size_t>& lengths, Mode mode,
                                std::size_t batch, bool sorted);

// `computed` is the number of computed tokens: for each group, its number of sentences times the
// length of its longest. `tokens` is the part without padding.
struct Padding {
  std::size_t tokens = 0;
  std::size_t computed = 0;

  [[nodiscard]] double waste() const {
    return computed == 0 ? 0 : 1 - static_cast<double>(tokens) / static_cast<double>(computed);
  }
};

}  // namespace encoder
