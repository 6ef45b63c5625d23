#include "analyzer/serving/step_work.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "analyzer/median.h"
#include "analyzer/serving/lengths.h"

namespace stepscope {
namespace {

std::vector<BatchLengths> batches_of(const RecordedRun& recording, const Loop& loop) {
  std::vector<Phase> marks;
  for (const Phase& mark : recording.lengths) {
    if (mark.thread == loop.thread) marks.push_back(mark);
  }
  std::vector<Step> steps(loop.steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].start = loop.steps[i].start;
    steps[i].dur = loop.steps[i].length();
  }
  std::vector<std::size_t> all(steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return lengths_of(marks, steps, all, recording.text);
}

// Raises `work` to each of `values` as a multiple of their median, if that is more.
void raise(std::vector<double>& work, const std::vector<double>& values,
           const std::vector<BatchLengths>& batches) {
  const double usual = upper_median(values);
  if (usual <= 0) return;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    double& multiple = work[batches[i].step];
    multiple = std::max(multiple, values[i] / usual);
  }
}

}  // namespace

std::vector<double> step_work(const RecordedRun& recording, const Loop& loop) {
  const std::vector<BatchLengths> batches = batches_of(recording, loop);
  if (batches.empty()) return {};
  std::vector<double> elements, pairs;
  for (const BatchLengths& batch : batches) {
    const auto length = static_cast<double>(batch.longest());
    elements.push_back(static_cast<double>(batch.lengths.size()) * length);
    pairs.push_back(elements.back() * length);
  }
  std::vector<double> work(loop.steps.size(), 1);
  for (const BatchLengths& batch : batches) work[batch.step] = 0;
  raise(work, elements, batches);
  raise(work, pairs, batches);
  return work;
}

}  // namespace stepscope
