#include "tests/viewer-export/testing/trace_stores.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/counters.h"
#include "store/trace_writer.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

constexpr Duration us(std::int64_t n) { return Duration(n * 1000); }

const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> names = {
      "</script><script>alert(1)</script>",
      R"(quotes " ' ` and \ backslashes \u0041)",
      std::string("control \x01\x1f\x7f \t tab \n newline"),
      "right-to-left \u202e marks \u200f",
      "not UTF-8: \xff\xfe \xc3( \xed\xa0\x80 end",
      "emoji \U0001F525\U0001F468\u200D\U0001F469\u200D\U0001F467",
      "line separators \u2028 \u2029",
      std::string(20'000, 'x') + " a very long name",
      "{\"json\":[1,2]}",
      "%s %n %d",
      " ",
  };
  return names;
}

// Writes one step after another; all times follow from the step's start.
class HostileRun {
 public:
  explicit HostileRun(TraceWriter& writer) : writer_(writer) {}

  Status write() {
    if (Status status = declare(); !status.ok()) return status;
    SessionTime at = session_time(1'000'000);
    for (std::int64_t step = 1; step <= kSteps; ++step) at = add_step(step, at);
    add_hostile_ops(at);
    if (Status status = writer_.add(ops_); !status.ok()) return status;
    if (Status status = writer_.add(phases_); !status.ok()) return status;
    if (Status status = writer_.add(Loss{loop_, "op", 12}); !status.ok()) return status;
    return writer_.replace_analysis(analysis());
  }

 private:
  static constexpr std::int64_t kSteps = 40;
  static constexpr int kLayers = 6;

  Status declare() {
    const auto process = writer_.add_process({4242, "mnist", "./mnist --batch 128"});
    if (!process.ok()) return process.status();
    const auto loop = writer_.add_thread({*process, 4242, 1, "mnist"});
    const auto autograd = writer_.add_thread({*process, 4250, 2, "pt_autograd_0"});
    const auto odd = writer_.add_thread({*process, 4251, 3, "odd </script> \"thread\""});
    if (!loop.ok() || !autograd.ok() || !odd.ok()) return loop.status();
    loop_ = *loop;
    autograd_ = *autograd;
    odd_ = *odd;
    if (Status s = writer_.set_meta("wall_start_unix_ns", "1763700000123456789"); !s.ok()) return s;
    return writer_.set_meta("torch_version", "2.13.0");
  }

  // Valid until the next call.
  Op& op(ThreadId thread, std::string_view name, SessionTime start, Duration dur,
         std::uint8_t depth) {
    Op op;
    op.thread = thread;
    op.name = writer_.intern(name);
    op.start = start;
    op.dur = op.self = dur;
    op.depth = depth;
    ops_.push_back(op);
    return ops_.back();
  }

  void phase(PhaseKind kind, std::string_view name, SessionTime start, Duration dur,
             Duration cpu = Duration(0)) {
    phases_.push_back({loop_, kind, writer_.intern(name), start, dur, cpu});
  }

  SessionTime add_step(std::int64_t number, const SessionTime start) {
    const Duration input = us(number % 10 == 0 ? 4000 : 600 + 40 * (number % 7));
    SessionTime at = start;
    phase(PhaseKind::kInput, "RandomSampler</script>", at, input, input * 9 / 10);
    add_decoding(at, input);
    at += input + us(5);
    const SessionTime forward = at;
    for (int layer = 0; layer < kLayers; ++layer) at = add_linear(at);
    phase(PhaseKind::kForward, "", forward, at - forward);
    const SessionTime backward = at;
    for (int layer = 0; layer < kLayers; ++layer) at = add_backward(at, layer);
    phase(PhaseKind::kBackward, "", backward, at - backward);
    phase(PhaseKind::kOptimizer, "Adam", at, us(90));
    op(loop_, "aten::_foreach_add_", at + us(2), us(80), 1);
    Op& adam = op(loop_, "Optimizer.step#Adam.step", at, us(90), 0);
    adam.scope = OpScope::kUser;
    at += us(90);
    if (number % 8 == 0) {
      // A scope that starts inside the optimizer's phase and outlives it.
      phase(PhaseKind::kScope, "checkpoint \u202e", at - us(20), us(120));
      at += us(100);
    }
    at += us(10);
    steps_.push_back(step_of(number, start, at - start, input));
    return at;
  }

  void add_decoding(SessionTime at, Duration input) {
    const Duration each = input / 8;
    for (int i = 0; i < 8; ++i) {
      op(loop_, "aten::to", at, each / 2, 1);
      op(loop_, "aten::div", at + each / 2, each / 2, 1);
      op(loop_, "decode image", at, each, 0).scope = OpScope::kUser;
      at += each;
    }
  }

  // linear, t and addmm begin in one nanosecond.
  SessionTime add_linear(SessionTime at) {
    op(loop_, "aten::transpose", at, us(1), 2);
    op(loop_, "aten::t", at, us(3), 1);
    Op& addmm = op(loop_, "aten::addmm", at + us(4), us(30), 1);
    addmm.sequence = next_sequence_;
    Op& linear = op(loop_, "aten::linear", at, us(36), 0);
    linear.sequence = next_sequence_++;
    linear.shapes = writer_.intern("[[128,784],[784,128]]");
    op(loop_, "aten::alias", at + us(36), Duration(0), 0);
    return at + us(38);
  }

  SessionTime add_backward(SessionTime at, int layer) {
    op(autograd_, "aten::mm", at + us(2), us(40), 2);
    const std::int64_t sequence = next_sequence_ - 1 - layer;
    Op& node = op(autograd_, "AddmmBackward0", at, us(45), 1);
    node.scope = OpScope::kBackwardFunction;
    node.sequence = sequence;
    node.forward_thread = 1;
    Op& frame = op(autograd_, "autograd::engine::evaluate_function: AddmmBackward0", at, us(47), 0);
    frame.sequence = sequence;
    return at + us(50);
  }

  // A thread of its own with every hostile name, and ops that overlap.
  void add_hostile_ops(SessionTime at) {
    for (const std::string& name : hostile_names()) {
      op(odd_, name, at, us(20), 1);
      op(odd_, name, at, us(20), 0);  // its parent, of the same start and length
      at += us(25);
    }
    op(odd_, "asynchronous", at - us(40), us(50), 0).scope = OpScope::kUser;
    op(odd_, "asynchronous too", at - us(30), us(60), 0).scope = OpScope::kUser;
  }

  Step step_of(std::int64_t number, SessionTime start, Duration dur, Duration input) {
    Step step;
    step.number = number;
    step.thread = loop_;
    step.start = start;
    step.dur = dur;
    step.marker = StepMarker::kLoader;
    step.ops_recorded = true;
    step.steady = number > 3;
    step.times = {{Category::kInput, PhaseKind::kInput, "", input, Duration(0)},
                  {Category::kCompute, PhaseKind::kForward, "", us(200), Duration(0)},
                  {Category::kOther, PhaseKind::kNone, "\"label\"", us(1), us(3)},
                  {Category::kHost, PhaseKind::kNone, "", dur - input - us(201), Duration(0)}};
    return step;
  }

  Analysis analysis() {
    Verdict verdict;
    verdict.thread = loop_;
    verdict.kind = "input-bound";
    verdict.degree = "highly";
    verdict.share = 0.552;
    verdict.ci_low = 0.54;
    verdict.ci_high = 0.565;
    verdict.confidence = "medium";
    verdict.sentence = "55.2 % of the step waits for input.";
    verdict.steps = kSteps - 3;
    Advice advice;
    advice.rule = "input-prefetch";
    advice.title = "prefetch with 2 workers";
    advice.why = "2 hide the whole wait";
    advice.predicted_step_ns = 700'000;
    verdict.advice = {advice};
    Analysis analysis;
    analysis.steps = steps_;
    analysis.verdicts = {verdict};
    return analysis;
  }

  TraceWriter& writer_;
  ThreadId loop_{}, autograd_{}, odd_{};
  std::int64_t next_sequence_ = 0;
  std::vector<Op> ops_;
  std::vector<Phase> phases_;
  std::vector<Step> steps_;
};

// Ten ops an op group, as a small layer makes them; three threads take turns.
class LargeRun {
 public:
  LargeRun(TraceWriter& writer, std::int64_t ops) : writer_(writer), left_(ops) {}

  Status write() {
    if (Status status = declare(); !status.ok()) return status;
    while (left_ > 0) {
      if (Status status = add_step(); !status.ok()) return status;
    }
    return writer_.add(phases_);
  }

 private:
  static constexpr std::int64_t kOpsAStep = 1000;
  static constexpr int kNames = 60;

  Status declare() {
    const auto process = writer_.add_process({5000, "train", "./train"});
    if (!process.ok()) return process.status();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const auto thread = writer_.add_thread(
          {*process, 5000 + static_cast<std::int64_t>(i), static_cast<std::uint32_t>(i + 1),
           i == 0 ? "train" : "pt_autograd_" + std::to_string(i - 1)});
      if (!thread.ok()) return thread.status();
      threads_[i] = *thread;
    }
    for (int i = 0; i < kNames; ++i) {
      names_.push_back(writer_.intern("aten::operator_" + std::to_string(i)));
    }
    return {};
  }

  Status add_step() {
    const SessionTime start = now_;
    batch_.clear();
    phases_.push_back({threads_[0], PhaseKind::kInput, StringId::kNone, now_, us(300), us(290)});
    now_ += us(300);
    while (left_ > 0 && batch_.size() < kOpsAStep) add_group();
    phases_.push_back(
        {threads_[0], PhaseKind::kForward, StringId::kNone, start + us(300), now_ - start, {}});
    now_ += us(10);
    return writer_.add(batch_);
  }

  // A parent with nine children, of which the first starts with it.
  void add_group() {
    const ThreadId thread = threads_[group_ % 3 == 0 ? 1 + group_ / 3 % 2 : 0];
    const std::int64_t children = std::min<std::int64_t>(left_ - 1, 9);
    const SessionTime start = now_;
    for (std::int64_t i = 0; i < children; ++i) {
      add_op(thread, now_, Duration(1700 + 13 * i), 1);
      now_ += us(2);
    }
    add_op(thread, start, now_ - start + Duration(400), 0);
    now_ += us(1);
    ++group_;
  }

  void add_op(ThreadId thread, SessionTime start, Duration dur, std::uint8_t depth) {
    Op op;
    op.thread = thread;
    op.name = names_[static_cast<std::size_t>(left_) % names_.size()];
    op.start = start;
    op.dur = dur;
    op.self = depth == 0 ? us(1) : dur;
    op.depth = depth;
    op.phase = PhaseKind::kForward;
    if (depth == 0) {
      const bool backward = thread != threads_[0];
      op.sequence = backward ? sequence_ - 1 : sequence_++;
      op.forward_thread = backward ? 1 : 0;
      op.scope = backward ? OpScope::kBackwardFunction : OpScope::kFunction;
    }
    batch_.push_back(op);
    --left_;
  }

  TraceWriter& writer_;
  std::int64_t left_;
  std::int64_t sequence_ = 0;
  std::size_t group_ = 0;
  SessionTime now_ = session_time(5'000'000);
  std::array<ThreadId, 3> threads_{};
  std::vector<StringId> names_;
  std::vector<Op> batch_;
  std::vector<Phase> phases_;
};

class ServedRecorder {
 public:
  explicit ServedRecorder(TraceWriter& writer) : writer_(writer) {}

  Status write() {
    const auto process = writer_.add_process({6000, "serve", "./serve --format eager"});
    if (!process.ok()) return process.status();
    const auto thread = writer_.add_thread({*process, 6000, 1, "serve"});
    if (!thread.ok()) return thread.status();
    thread_ = *thread;
    for (int call = 0; call < ServedRun::kCalls; ++call) add_call(call);
    phase(PhaseKind::kInputEnd, "requests", us(2));
    if (Status status = writer_.add(ops_); !status.ok()) return status;
    return writer_.add(phases_);
  }

 private:
  // No two calls take quite the same.
  void add_call(int call) {
    phase(PhaseKind::kInput, "requests", ServedRun::kInput);
    const SessionTime begin = now_;
    phase(PhaseKind::kScope, "tokenize", ServedRun::kTokenize);
    const char* const lengths = call % 2 == 0 ? "lengths 4 7 9" : "lengths 12 3 5";
    phases_.push_back(
        {thread_, PhaseKind::kScope, writer_.intern(lengths), begin + us(10), Duration(0), {}});
    for (int layer = 0; layer < 2; ++layer)
      op("aten::linear", ServedRun::kLayer + us(3 * (call * 7 % 5)));
    now_ += ServedRun::kBetween;
  }

  void phase(PhaseKind kind, std::string_view name, Duration dur) {
    phases_.push_back({thread_, kind, writer_.intern(name), now_, dur, dur / 2});
    now_ += dur;
  }

  void op(std::string_view name, Duration dur) {
    Op op;
    op.thread = thread_;
    op.name = writer_.intern(name);
    op.start = now_;
    op.dur = op.self = dur;
    ops_.push_back(op);
    now_ += dur;
  }

  TraceWriter& writer_;
  ThreadId thread_{};
  SessionTime now_ = session_time(1'000'000);
  std::vector<Op> ops_;
  std::vector<Phase> phases_;
};

constexpr std::array<std::string_view, 5> kTensorPhases = {"input", "forward", "backward",
                                                           "optimizer", "other"};

Status add_tensor_samples(const SyntheticRun& run, TraceWriter& writer) {
  std::vector<Sample> samples;
  for (int step = 1; step <= run.steps; ++step) {
    const SessionTime at = run.step_start(step - 1);
    std::int64_t sum = 0;
    for (const std::string_view phase : kTensorPhases) {
      const std::int64_t bytes = TensorRun::bytes(phase, step);
      sum += bytes;
      const std::string counter = std::string(counter::kTensorBytes) + "_" + std::string(phase);
      if (bytes > 0) samples.push_back({ProcessId{1}, writer.intern(counter), at, bytes});
    }
    samples.push_back({ProcessId{1}, writer.intern(counter::kTensorBytes), at, sum});
  }
  return writer.add(samples);
}

}  // namespace

std::int64_t TensorRun::bytes(std::string_view phase, int step) {
  constexpr std::int64_t kMB = 1'000'000;
  if (phase == "input") return 4 * kMB;
  if (phase == "backward") return 10 * kMB;
  if (phase == "optimizer") return step > 1 ? 20 * kMB : 0;
  if (phase == "other") return 40 * kMB;
  return step <= kPeakStep ? 30 * kMB + 2 * kMB * step : 5 * kMB;  // forward
}

Status make_served_store(const std::filesystem::path& path) {
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.status();
  if (Status status = ServedRecorder(**writer).write(); !status.ok()) return status;
  return (*writer)->finish();
}

Status make_tensor_store(const std::filesystem::path& path) {
  const SyntheticRun run{.steps = TensorRun::kSteps, .killed_by = 9, .samples = true};
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.status();
  if (Status status = record(run, **writer); !status.ok()) return status;
  if (Status status = add_tensor_samples(run, **writer); !status.ok()) return status;
  if (Status status = (*writer)->replace_analysis(true_analysis(run)); !status.ok()) return status;
  return (*writer)->finish();
}

Status make_hostile_store(const std::filesystem::path& path) {
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.status();
  if (Status status = HostileRun(**writer).write(); !status.ok()) return status;
  return (*writer)->finish();
}

Status make_large_store(const std::filesystem::path& path, std::int64_t ops) {
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.status();
  if (Status status = LargeRun(**writer, ops).write(); !status.ok()) return status;
  return (*writer)->finish();
}

}  // namespace stepscope::testing
