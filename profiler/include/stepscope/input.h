// The input wrapper, which records each wait for a batch.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "stepscope/c_api.h"

namespace stepscope {

// One wait for a batch, for hand-written readers:
//
//   {
//     stepscope::InputWait wait("reader");
//     have_batch = reader.next(&batch);
//     if (!have_batch) wait.exhausted();
//   }
class InputWait {
 public:
  explicit InputWait(std::string_view name = "input")
      : phase_(stepscope_begin_input(name.data(), name.size())) {}
  ~InputWait() { end(); }
  InputWait(const InputWait&) = delete;
  InputWait& operator=(const InputWait&) = delete;

  // Call when no batch came because the loader is exhausted. Such a wait begins no step.
  void exhausted() { exhausted_ = true; }
  // Ends the wait before the end of the scope.
  void end() {
    if (ended_) return;
    ended_ = true;
    stepscope_end_input(&phase_, exhausted_ ? 1 : 0);
  }

 private:
  stepscope_phase phase_;
  bool exhausted_ = false;
  bool ended_ = false;
};

namespace detail {

// The current wait of an iteration, if any. A loader may fetch in ++, in the comparison with end or
// in *, so a wait lasts from the first of these to the last one before the loop's body.
class WaitOfIteration {
 public:
  explicit WaitOfIteration(std::string name) : name_(std::move(name)) {}
  ~WaitOfIteration() { end(false); }
  WaitOfIteration(const WaitOfIteration&) = delete;
  WaitOfIteration& operator=(const WaitOfIteration&) = delete;

  void begin() {
    end(false);
    phase_ = stepscope_begin_input(name_.data(), name_.size());
    open_ = true;
  }
  void end(bool exhausted) {
    if (!open_) return;
    open_ = false;
    stepscope_end_input(&phase_, exhausted ? 1 : 0);
  }

 private:
  std::string name_;
  stepscope_phase phase_{};
  bool open_ = false;
};

template <typename Sentinel>
struct InputSentinel {
  Sentinel end;
};

// A single-pass adaptor of `Iterator` that records its waits. Copies share the wait, as copies of
// an input iterator share their position.
template <typename Iterator>
class InputIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using reference = decltype(*std::declval<Iterator&>());
  using value_type = std::remove_cv_t<std::remove_reference_t<reference>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;

  InputIterator(Iterator it, std::shared_ptr<WaitOfIteration> wait)
      : it_(std::move(it)), wait_(std::move(wait)) {}

  // The wait ends when the reference is returned: then the caller has the batch.
  reference operator*() {
    const EndOfWait end{*wait_};
    return *it_;
  }
  InputIterator& operator++() {
    wait_->begin();
    ++it_;
    return *this;
  }
  void operator++(int) { ++*this; }

  template <typename Sentinel>
  friend bool operator==(const InputIterator& it, const InputSentinel<Sentinel>& sentinel) {
    const bool at_end = !(it.it_ != sentinel.end);
    if (at_end) it.wait_->end(true);
    return at_end;
  }
  template <typename Sentinel>
  friend bool operator!=(const InputIterator& it, const InputSentinel<Sentinel>& sentinel) {
    return !(it == sentinel);
  }

 private:
  struct EndOfWait {
    WaitOfIteration& wait;
    ~EndOfWait() { wait.end(false); }
  };

  Iterator it_;
  std::shared_ptr<WaitOfIteration> wait_;
};

// Returned by input(). Owns an rvalue range, refers to an lvalue range.
template <typename Range>
class InputRange {
 public:
  InputRange(Range&& range, std::string_view name)
      : range_(std::forward<Range>(range)), name_(name) {}

  auto begin() {
    using std::begin;
    auto wait = std::make_shared<WaitOfIteration>(name_);
    wait->begin();
    using Iterator = std::decay_t<decltype(begin(range_))>;
    return InputIterator<Iterator>(begin(range_), std::move(wait));
  }
  auto end() {
    using std::end;
    return InputSentinel<std::decay_t<decltype(end(range_))>>{end(range_)};
  }

 private:
  Range range_;  // T& or T
  std::string name_;
};

}  // namespace detail

// Iterates like `range`, and records each wait for the next element as an input wait of the loader
// `name`. `range` is anything that a range-based for accepts: a torch::data loader (`*loader`), a
// container, a generator. Each begin() starts a new epoch.
template <typename Range>
auto input(Range&& range, std::string_view name = "input") {
  return detail::InputRange<Range>(std::forward<Range>(range), name);
}

// The same for a pair of iterators.
template <typename Iterator, typename Sentinel,
          typename = std::enable_if_t<!std::is_convertible_v<Sentinel, std::string_view>>>
auto input(Iterator first, Sentinel last, std::string_view name = "input") {
  struct Pair {
    Iterator first;
    Sentinel last;
    Iterator begin() const { return first; }
    Sentinel end() const { return last; }
  };
  return detail::InputRange<Pair>(Pair{std::move(first), std::move(last)}, name);
}

}  // namespace stepscope
