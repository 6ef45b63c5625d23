// torch::data loaders, generated as their samplers mark them, with known batches.
#include "analyzer/steps/sampler_marks.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/analyzer/recording_builder.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

constexpr unsigned kRuns = random_runs(200);

class GeneratedLoader {
 public:
  GeneratedLoader(unsigned seed, std::int64_t workers) : random_(seed), workers_(workers) {
    thread_ = builder_.thread("main");
    epochs_ = pick(1, 5);
    batches_ = pick(workers * 2 + 3, 40);
    for (std::int64_t epoch = 0; epoch < epochs_; ++epoch) workers > 0 ? ahead() : on_demand();
  }

  std::vector<Phase> phases() { return builder_.recording().phases; }
  [[nodiscard]] const std::vector<Op>& ops() const { return builder_.ops(); }
  bool is_layer(const Op& op) { return op.name == builder_.intern("aten::conv2d"); }
  [[nodiscard]] ThreadId thread() const { return thread_; }
  [[nodiscard]] std::size_t batches() const { return static_cast<std::size_t>(epochs_ * batches_); }
  [[nodiscard]] std::int64_t waited() const { return waited_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  std::int64_t mark() {
    const std::int64_t dur = pick(100, 2'000);
    builder_.phase(thread_, PhaseKind::kSampler, now_, now_ + dur);
    now_ += dur;
    return dur;
  }

  // A batch is prepared, partly by ops.
  void wait() {
    const std::int64_t dur = pick(20'000, 300'000);
    const std::int64_t op_start = now_ + pick(0, dur);
    if (workers_ == 0) builder_.op(thread_, "aten::div", op_start, now_ + dur);
    now_ += dur;
    waited_ += dur;
  }

  void work() {
    const std::int64_t end = now_ + pick(500'000, 700'000);
    builder_.op(thread_, "aten::conv2d", now_, end);
    now_ = end;
  }

  void on_demand() {
    for (std::int64_t i = 0; i < batches_; ++i) {
      waited_ += mark();
      wait();
      work();
    }
    mark();
    now_ += pick(0, 10'000);
  }

  void ahead() {
    const std::int64_t begin = now_;
    for (std::int64_t i = 0; i < 2 * workers_; ++i) {
      mark();
      now_ += pick(0, 10'000);
    }
    waited_ += now_ - begin;
    for (std::int64_t i = 0; i < batches_; ++i) {
      wait();
      waited_ += mark();
      work();
    }
  }

  std::mt19937 random_;
  const std::int64_t workers_;
  RecordingBuilder builder_;
  ThreadId thread_ = ThreadId::kNone;
  std::int64_t epochs_ = 0, batches_ = 0, now_ = 0, waited_ = 0;
};

std::int64_t input_of(GeneratedLoader& loader) {
  SamplerInput reader(loader.phases());
  for (const Op& op : loader.ops()) reader.add(op, loader.is_layer(op));
  std::int64_t sum = 0;
  EXPECT_EQ(reader.finish(loader.thread()).by_fetches, !sampler_marks(loader.phases()).ahead);
  for (const Phase& piece : reader.finish(loader.thread()).pieces) sum += to_ns(piece.dur);
  return sum;
}

TEST(SamplerMarks, WithoutWorkersEveryBatchIsAStep) {
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    GeneratedLoader loader(seed, 0);
    EXPECT_FALSE(sampler_marks(loader.phases()).ahead) << seed;
    EXPECT_EQ(sampler_steps(loader.phases()).size(), loader.batches()) << seed;
  }
}

TEST(SamplerMarks, WithWorkersEveryBatchIsAStepButTheLast) {
  for (const std::int64_t workers : {1, 2, 8}) {
    for (unsigned seed = 0; seed < kRuns; ++seed) {
      GeneratedLoader loader(seed, workers);
      EXPECT_TRUE(sampler_marks(loader.phases()).ahead) << seed;
      EXPECT_EQ(sampler_steps(loader.phases()).size(), loader.batches() - 1) << seed;
    }
  }
}

TEST(SamplerMarks, StepsTile) {
  for (const std::int64_t workers : {0, 3}) {
    for (unsigned seed = 0; seed < kRuns; ++seed) {
      const auto steps = sampler_steps(GeneratedLoader(seed, workers).phases());
      for (std::size_t i = 1; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].start, steps[i - 1].end) << seed;
        EXPECT_LT(steps[i].start, steps[i].end) << seed;
      }
    }
  }
}

// Between two epochs without workers lies what the loader does when it has nothing more: at most
// 12 µs each here. All else that is waited for is input, to the nanosecond.
TEST(SamplerMarks, EveryWaitIsInput) {
  for (const std::int64_t workers : {0, 1, 4}) {
    for (unsigned seed = 0; seed < kRuns; ++seed) {
      GeneratedLoader loader(seed, workers);
      const std::int64_t between = workers > 0 ? 0 : 4 * 12'000;
      EXPECT_GE(input_of(loader), loader.waited()) << workers << " workers, seed " << seed;
      EXPECT_LE(input_of(loader), loader.waited() + between) << workers << ", seed " << seed;
    }
  }
}

TEST(SamplerMarks, WithoutOpsNoInputIsKnown) {
  for (const std::int64_t workers : {0, 2}) {
    GeneratedLoader loader(7, workers);
    EXPECT_TRUE(SamplerInput(loader.phases()).finish(loader.thread()).pieces.empty());
  }
}

}  // namespace
}  // namespace stepscope::testing
