// Which sentences go through the model together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace encoder {

enum class Mode {
  kSingle,  // each sentence on its own: no padding, one call a sentence
  kBatch,   // as many at a time as said
  kFull,    // all at once: one call, as wide as the longest sentence
};

using Group = std::vector<std::size_t>;  // numbers of sentences

// Every sentence once. In the order they came, or from long to short, so that those of a group are
// of about one length; `lengths` needs only to be in proportion (characters do). `batch`: of
// Mode::kBatch, at least 1.
std::vector<Group> plan_batches(const std::vector<std::size_t>& lengths, Mode mode,
                                std::size_t batch, bool sorted);

// What is computed: for each group its number of sentences times its longest. `tokens` is the part
// that stands for words.
struct Padding {
  std::size_t tokens = 0;
  std::size_t computed = 0;

  [[nodiscard]] double waste() const {
    return computed == 0 ? 0 : 1 - static_cast<double>(tokens) / static_cast<double>(computed);
  }
};

}  // namespace encoder
