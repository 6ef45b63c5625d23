#include "analyzer/serving/lengths.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <utility>

namespace stepscope {
namespace {

constexpr std::int64_t kMaxLength = 1'000'000'000;  // no sample is longer; sums stay exact

// Removes the next number from `text` and returns it; nothing if there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMaxLength) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void add_batch(ComputedElements& sum, std::size_t samples, std::int64_t length) {
  const auto width = static_cast<double>(length);
  sum.elements += static_cast<double>(samples) * width;
  sum.pairs += static_cast<double>(samples) * width * width;
}

// Adds the samples of the batches, in batches of the same sizes but sorted by length.
void add_sorted(ComputedElements& sum, std::vector<BatchLengths>::const_iterator first,
                std::vector<BatchLengths>::const_iterator last) {
  std::vector<std::int64_t> lengths;
  for (auto batch = first; batch != last; ++batch)
    lengths.insert(lengths.end(), batch->lengths.begin(), batch->lengths.end());
  std::sort(lengths.begin(), lengths.end());
  std::size_t at = 0;
  for (auto batch = first; batch != last; ++batch) {
    at += batch->lengths.size();
    if (at > 0) add_batch(sum, batch->lengths.size(), lengths[at - 1]);
  }
}

// `lengths` in their order, kAdvisedBatch to a batch.
ComputedElements in_batches(const std::vector<std::int64_t>& lengths) {
  ComputedElements sum;
  for (auto at = lengths.begin(); at != lengths.end();) {
    const auto end = at + std::min<std::ptrdiff_t>(kAdvisedBatch, lengths.end() - at);
    add_batch(sum, static_cast<std::size_t>(end - at), *std::max_element(at, end));
    at = end;
  }
  return sum;
}

}  // namespace

std::int64_t BatchLengths::longest() const {
  const auto most = std::max_element(lengths.begin(), lengths.end());
  return std::max(padded_to, most == lengths.end() ? 0 : *most);
}

std::int64_t BatchLengths::content() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::optional<BatchLengths> parse_lengths(std::string_view name) {
  constexpr std::string_view kWord = "lengths";
  if (!is_lengths_mark(name)) return std::nullopt;
  name.remove_prefix(kWord.size());
  BatchLengths batch;
  if (name.front() == '/') {
    name.remove_prefix(1);
    const auto padded_to = take_number(name);
    if (!padded_to) return std::nullopt;
    batch.padded_to = *padded_to;
  }
  while (name.starts_with(' ')) {
    name.remove_prefix(1);
    const auto length = take_number(name);
    if (!length) return std::nullopt;
    batch.lengths.push_back(*length);
  }
  if (!name.empty() || batch.lengths.empty()) return std::nullopt;
  return batch;
}

PaddingUse padding_use(const std::vector<BatchLengths>& batches) {
  PaddingUse use;
  for (const BatchLengths& batch : batches) {
    ++use.batches;
    use.samples += static_cast<std::int64_t>(batch.lengths.size());
    use.content += static_cast<double>(batch.content());
    add_batch(use.computed, batch.lengths.size(), batch.longest());
  }
  add_sorted(use.sorted, batches.begin(), batches.end());
  for (std::size_t at = 0; at < batches.size(); at += kBucket) {
    const std::size_t count = std::min(kBucket, batches.size() - at);
    const auto first = batches.begin() + static_cast<std::ptrdiff_t>(at);
    add_sorted(use.bucketed, first, first + static_cast<std::ptrdiff_t>(count));
  }
  std::vector<std::int64_t> lengths;
  for (const BatchLengths& batch : batches)
    lengths.insert(lengths.end(), batch.lengths.begin(), batch.lengths.end());
  use.batched = in_batches(lengths);
  std::sort(lengths.begin(), lengths.end());
  use.batched_sorted = in_batches(lengths);
  return use;
}

std::vector<BatchLengths> lengths_of(const std::vector<Phase>& marks,
                                     const std::vector<Step>& steps,
                                     const std::vector<std::size_t>& chosen,
                                     const std::function<std::string_view(StringId)>& text) {
  std::vector<BatchLengths> batches;
  std::size_t at = 0;
  for (const Phase& mark : marks) {
    const auto ended = [&](std::size_t step) { return steps[step].end(); };
    while (at < chosen.size() && ended(chosen[at]) <= mark.start) ++at;
    if (at == chosen.size()) break;
    if (mark.start < steps[chosen[at]].start) continue;
    auto batch = parse_lengths(text(mark.name));
    if (!batch) continue;
    batch->step = chosen[at];
    if (batches.empty() || batches.back().step != batch->step) {
      batches.push_back(*std::move(batch));
      continue;
    }
    BatchLengths& same = batches.back();
    same.lengths.insert(same.lengths.end(), batch->lengths.begin(), batch->lengths.end());
    same.padded_to = std::max(same.padded_to, batch->padded_to);
  }
  return batches;
}

}  // namespace stepscope
