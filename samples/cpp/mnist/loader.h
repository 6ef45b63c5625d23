// The input pipeline, from bytes to batches. This sample is about its cost.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "samples/cpp/mnist/dataset.h"
#include "samples/cpp/mnist/ordered_prefetcher.h"

namespace mnist {

struct Batch {
  torch::Tensor images;  // [batch, rows, columns], float, 0 to 1
  torch::Tensor labels;  // [batch], int64
};

// Makes batches the naive way: converts each image separately from bytes to floats, rescales it,
// then stacks them. With a cache, all images are decoded once, before the training, and a batch is
// one gather.
//
// Thread safety: several threads may make batches of different images at once.
class BatchMaker {
 public:
  enum class Cache { kOff, kOn };

  BatchMaker(const Split& split, Cache cache);  // refers to `split`

  [[nodiscard]] Batch make(const torch::Tensor& indices) const;  // int64: the images to use

 private:
  [[nodiscard]] torch::Tensor decode(std::int64_t index) const;

  torch::Tensor bytes_;   // [count, rows, columns], uint8, as in the file
  torch::Tensor labels_;  // [count], int64
  torch::Tensor cache_;   // [count, rows, columns], float; undefined: no cache
};

// The batches of one pass through the data, as a single-pass range. Prefetch threads make them
// ahead, in the same order.
class Epoch {
 public:
  struct Plan {
    torch::Tensor order;  // a permutation of the images
    std::int64_t batch = 0;
    int prefetch = 0;
  };

  Epoch(const BatchMaker& maker, Plan plan);

  class Iterator {
   public:
    explicit Iterator(Epoch* epoch) : epoch_(epoch) { ++*this; }
    const Batch& operator*() const { return *epoch_->current_; }
    Iterator& operator++() {
      epoch_->current_ = epoch_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !epoch_->current_; }

   private:
    Epoch* epoch_;
  };
  Iterator begin() { return Iterator(this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

 private:
  [[nodiscard]] Batch make(std::size_t number) const;
  [[nodiscard]] std::optional<Batch> next();

  const BatchMaker& maker_;
  Plan plan_;
  std::size_t count_;
  std::size_t taken_ = 0;
  std::optional<Batch> current_;
  std::unique_ptr<OrderedPrefetcher<Batch>> prefetcher_;  // last: its threads use all of the above
};

}  // namespace mnist
