// OrderedPrefetcher: makes items on background threads, ahead of the thread that takes them.
//
// Items come out in the order 0, 1, 2, … whatever the number of threads, so results do not depend
// on it. At any time, at most `capacity` items are finished or being made. A thread that found no
// room sleeps until half of the items are taken: waking it costs the taker more than taking an
// item.
//
// Thread safety: only one thread may call next().
// Invariants: item i lives in slot i % capacity; it is begun only after item i - capacity was
// taken.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mnist {

template <typename T>
class OrderedPrefetcher {
 public:
  using Produce = std::function<T(std::size_t index)>;  // called on several threads at once

  OrderedPrefetcher(std::size_t count, std::size_t threads, std::size_t capacity, Produce produce)
      : count_(count), produce_(std::move(produce)), slots_(capacity) {
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { work(); });
      pthread_setname_np(threads_.back().native_handle(),
                         ("prefetch-" + std::to_string(i)).c_str());
    }
  }

  ~OrderedPrefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedPrefetcher(const OrderedPrefetcher&) = delete;
  OrderedPrefetcher& operator=(const OrderedPrefetcher&) = delete;

  // The next item; nothing after the last. Rethrows the exception of its production.
  std::optional<T> next() {
    std::unique_lock lock(mutex_);
    if (taken_ == count_) return std::nullopt;
    Slot& slot = slots_[taken_ % slots_.size()];
    ready_.wait(lock, [&slot] { return slot.item.has_value() || slot.error; });
    if (slot.error) std::rethrow_exception(slot.error);
    std::optional<T> item = std::exchange(slot.item, std::nullopt);
    ++taken_;
    const bool half_empty = begun_ - taken_ <= slots_.size() / 2;
    lock.unlock();
    if (half_empty) room_.notify_all();
    return item;
  }

 private:
  struct Slot {
    std::optional<T> item;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [this] {
        return stopping_ || begun_ == count_ || begun_ < taken_ + slots_.size();
      });
      if (stopping_ || begun_ == count_) return;
      const std::size_t index = begun_++;
      lock.unlock();
      Slot made = make(index);
      lock.lock();
      slots_[index % slots_.size()] = std::move(made);
      ready_.notify_one();
    }
  }

  Slot make(std::size_t index) {
    try {
      return {produce_(index), nullptr};
    } catch (...) {
      return {std::nullopt, std::current_exception()};
    }
  }

  const std::size_t count_;
  const Produce produce_;

  std::mutex mutex_;
  std::condition_variable ready_;  // an item has been finished
  std::condition_variable room_;   // an item was taken, or the threads must stop
  std::vector<Slot> slots_;        // guarded by mutex_, as are those below
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace mnist
