#include "tests/store/testing/growing_run.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace stepscope::testing {
namespace {

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "GrowingRun: %s\n", status.message().c_str());
  std::abort();
}

template <typename T>
T must(Result<T> result) {
  must(result.status());
  return *std::move(result);
}

}  // namespace

GrowingRun::GrowingRun(const std::filesystem::path& path)
    : writer_(must(TraceWriter::create(path))) {
  process_ = must(writer_->add_process({.pid = 7, .name = "train", .command = "./train"}));
  thread_ = must(writer_->add_thread({process_, 7, 1, "train"}));
  loader_ = writer_->intern("DataLoader");
  op_ = writer_->intern("aten::addmm");
  must(writer_->set_meta("command", "./train"));
  must(writer_->set_meta("working_folder", "/src"));
  watched_ = must(writer_->add_watched_thread({process_, 7, 7, "train"}));
  // A worker's own process need not be recorded.
  worker_ = must(writer_->add_watched_thread({process_, 8, 8, "pt_data_worker"}));
  flush();
}

void GrowingRun::steps(int count, Duration input, Duration compute) {
  for (int i = 0; i < count; ++i) {
    phase(PhaseKind::kInput, loader_, input);
    const SessionTime begin = now_;
    phase(PhaseKind::kBackward, StringId::kNone, compute / 2);
    phase(PhaseKind::kOptimizer, StringId::kNone, compute / 2);
    const Op op{.thread = thread_, .name = op_, .start = begin, .dur = compute, .self = compute};
    must(writer_->add(op));
  }
  flush();
}

void GrowingRun::rounds(int count, Duration wait, Duration compute) {
  const StringId names[] = {writer_->intern("aten::embedding"), op_,
                            writer_->intern("aten::softmax")};
  for (int i = 0; i < count; ++i) {
    now_ += wait;
    for (const StringId name : names) {
      const Duration dur = compute / 3;
      must(writer_->add(
          Op{.thread = thread_, .name = name, .start = now_, .dur = dur, .self = dur}));
      now_ += dur;
    }
  }
  flush();
}

void GrowingRun::wait_for_input(Duration input) {
  phase(PhaseKind::kInput, loader_, input);
  flush();
}

void GrowingRun::sample(const char* counter, std::int64_t value) {
  const Sample sample{process_, writer_->intern(counter), now_, value};
  must(writer_->add(sample));
  flush();
}

void GrowingRun::look(const std::vector<const char*>& functions, bool worker) {
  FrameId frame = FrameId::kNone;
  for (const char* function : functions) {
    FrameId& known = frames_[{frame, function}];
    if (known == FrameId::kNone) {
      const StackFrame row[] = {{frame, writer_->intern(function), writer_->intern("/src/train.py"),
                                 static_cast<std::int64_t>(frames_.size())}};
      must(writer_->add(row));
      known = static_cast<FrameId>(frames_.size());
    }
    frame = known;
  }
  const StackSample sample[] = {{worker ? worker_ : watched_, now_, frame, worker}};
  must(writer_->add(sample));
  flush();
}

void GrowingRun::lose(std::int64_t ops) {
  must(writer_->add(Loss{thread_, "op", ops}));
  flush();
}

void GrowingRun::die(int signal) {
  must(writer_->add(ProcessEnd{process_, EndKind::kSignal, signal, now_, 3, false}));
  flush();
}

void GrowingRun::stop(const char* why) {
  writer_->stop_writing(Status::error(ErrorKind::kIo, why));
  must(writer_->set_last_meta("recording_stopped", why));
}

void GrowingRun::finish() {
  must(writer_->set_meta("end_ns", std::to_string(to_ns(now_))));
  must(writer_->finish());
  writer_.reset();
}

void GrowingRun::phase(PhaseKind kind, StringId name, Duration dur) {
  const Phase phase{thread_, kind, name, now_, dur, dur};
  must(writer_->add(phase));
  now_ += dur;
}

void GrowingRun::flush() { must(writer_->flush()); }

}  // namespace stepscope::testing
