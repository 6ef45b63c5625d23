// The true lengths of the samples in a loop's batches, as the program marked them
// (stepscope::lengths(), stepscope.lengths()), and how much of what was computed is padding.
//
// A mark is a scope with this name, inside its step; a long batch has several:
//
//   lengths 12 7 33          each padded to the longest
//   lengths/128 12 7 33      each padded to 128
//
// There is no other way to know the padding: the shapes of the computation include it, and the
// content of masks is not recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "store/analysis.h"

namespace stepscope {

struct BatchLengths {
  std::size_t step = 0;  // index in the steps of the loop
  std::vector<std::int64_t> lengths;
  std::int64_t padded_to = 0;  // 0: the longest

  [[nodiscard]] std::int64_t longest() const;  // what each sample is padded to
  [[nodiscard]] std::int64_t content() const;  // the sum of the lengths
};

// Parses "lengths/128 12 7"; nothing for any other text.
std::optional<BatchLengths> parse_lengths(std::string_view name);

inline bool is_lengths_mark(std::string_view name) {
  return name.starts_with("lengths ") || name.starts_with("lengths/");
}

// What is computed for some batches: elements (samples × length), and pairs of elements (samples ×
// length²), which attention computes.
struct ComputedElements {
  double elements = 0;
  double pairs = 0;
};

inline constexpr std::size_t kAdvisedBatch = 16;  // samples per batch, if each call has one so far

// What a loop's batches hold, over the analysed steps that have a mark.
struct PaddingUse {
  std::int64_t batches = 0;  // 0: no marks
  std::int64_t samples = 0;
  double content = 0;  // elements that are not padding
  ComputedElements computed;
  // The same samples in batches of the same sizes, each padded to its longest: all sorted by
  // length, and sorted within kBucket batches, which is possible for a stream, too.
  ComputedElements sorted;
  ComputedElements bucketed;
  // The same samples, kAdvisedBatch to a batch: in the order of the run, and all sorted by length.
  ComputedElements batched;
  ComputedElements batched_sorted;

  // The share of padding in what is computed, or would be in other batches.
  [[nodiscard]] double padding_share(const ComputedElements& of) const {
    return of.elements > 0 ? 1 - content / of.elements : 0;
  }
  [[nodiscard]] double padding_share() const { return padding_share(computed); }
  [[nodiscard]] double batch_size() const {
    return batches > 0 ? static_cast<double>(samples) / static_cast<double>(batches) : 0;
  }
};

inline constexpr std::size_t kBucket = 16;  // batches

PaddingUse padding_use(const std::vector<BatchLengths>& batches);

// The lengths in `marks` (of a loop's thread), each with its step among `chosen`. Marks in other
// steps are left out.
std::vector<BatchLengths> lengths_of(const std::vector<Phase>& marks,
                                     const std::vector<Step>& steps,
                                     const std::vector<std::size_t>& chosen,
                                     const std::function<std::string_view(StringId)>& text);

}  // namespace stepscope
