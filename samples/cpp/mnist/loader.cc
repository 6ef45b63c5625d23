#include "samples/cpp/mnist/loader.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mnist {
namespace {

// Per prefetch thread. Enough for the loop to continue while the scheduler runs something else
// instead of a prefetch thread for a few milliseconds.
constexpr std::size_t kBatchesAhead = 16;

// A view of the array. libtorch's type is not const, but nothing writes to it.
torch::Tensor view_of(const IdxArray& array) {
  const std::vector<std::int64_t> shape(array.shape.begin(), array.shape.end());
  return torch::from_blob(const_cast<std::uint8_t*>(array.bytes.data()), shape, torch::kUInt8);
}

}  // namespace

BatchMaker::BatchMaker(const Split& split, Cache cache)
    : bytes_(view_of(split.images)), labels_(view_of(split.labels).to(torch::kInt64)) {
  if (cache == Cache::kOn) cache_ = bytes_.to(torch::kFloat32).div(255);
}

torch::Tensor BatchMaker::decode(std::int64_t index) const {
  return bytes_.select(0, index).to(torch::kFloat32).div(255);
}

Batch BatchMaker::make(const torch::Tensor& indices) const {
  const torch::Tensor labels = labels_.index_select(0, indices);
  if (cache_.defined()) return {cache_.index_select(0, indices), labels};

  std::vector<torch::Tensor> images;
  images.reserve(static_cast<std::size_t>(indices.numel()));
  const std::int64_t* index = indices.data_ptr<std::int64_t>();
  std::transform(index, index + indices.numel(), std::back_inserter(images),
                 [this](std::int64_t i) { return decode(i); });
  return {torch::stack(images), labels};
}

Epoch::Epoch(const BatchMaker& maker, Plan plan)
    : maker_(maker),
      plan_(std::move(plan)),
      count_(static_cast<std::size_t>((plan_.order.numel() + plan_.batch - 1) / plan_.batch)) {
  if (plan_.prefetch == 0) return;
  const auto threads = static_cast<std::size_t>(plan_.prefetch);
  prefetcher_ = std::make_unique<OrderedPrefetcher<Batch>>(
      count_, threads, kBatchesAhead * threads,
      [this](std::size_t number) { return make(number); });
}

Batch Epoch::make(std::size_t number) const {
  const std::int64_t begin = static_cast<std::int64_t>(number) * plan_.batch;
  const std::int64_t end = std::min(begin + plan_.batch, plan_.order.numel());
  return maker_.make(plan_.order.slice(0, begin, end));
}

std::optional<Batch> Epoch::next() {
  if (prefetcher_) return prefetcher_->next();
  if (taken_ == count_) return std::nullopt;
  return make(taken_++);
}

}  // namespace mnist
