// The recorder of `stepscope run` and programs that come to it: forked children of a test, which
// join through the socket as any program does, note events and end in many ways.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "profiler/channel/channel_format.h"
#include "profiler/recorder/run_recorder.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"
#include "store/trace_reader.h"

namespace stepscope::testing {

// What a child has written, as it counts itself; survives its death.
struct Written {
  std::atomic<std::int64_t> phases{0};
  std::atomic<std::int64_t> ops{0};
};

class RecordedProgram : public ::testing::Test {
 protected:
  RecordedProgram()
      : path_(::testing::TempDir() + "/run-" + std::to_string(getpid()) + ".db"),
        written_(new(mmap(nullptr, sizeof(Written), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Written) {
    RunPlan plan;
    plan.nvml = STEPSCOPE_FAKE_NVML;
    auto recorder = RunRecorder::start(path_, {}, plan);
    EXPECT_TRUE(recorder.ok()) << recorder.status().message();
    recorder_ = *std::move(recorder);
  }
  ~RecordedProgram() override {
    munmap(written_, sizeof(Written));
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }

  // Runs `program` in a child until it ends, recording meanwhile, or once `busy` is over. Returns
  // its wait status.
  int record(const std::function<void()>& program, std::chrono::milliseconds busy = {}) {
    const pid_t pid = start(program);
    std::this_thread::sleep_for(busy);
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      recorder_->wait({});
      recorder_->tick();
    }
    finish(pid, status);
    return status;
  }

  // The two ends of record().
  pid_t start(const std::function<void()>& program) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv(kSocketVariable, recorder_->socket_path().c_str(), 1);
      program();
      _exit(0);
    }
    recorder_->program_started(pid);
    return pid;
  }
  void finish(pid_t pid, int status) {
    recorder_->program_ended(pid, status, "program");
    const Status finished = recorder_->finish();
    EXPECT_TRUE(finished.ok()) << finished.message();
    auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    reader_ = *std::move(reader);
  }

  void note_scope() {
    const OpenPhase phase = Session::get().begin_phase(PhaseKind::kScope, "work");
    Session::get().end_phase(phase, PhaseKind::kScope);
    ++written_->phases;
  }
  void note_op() {
    ThreadRecorder* recorder = current_thread();
    if (recorder == nullptr) return;
    recorder->start_op({this, "op", -1, 0, OpScope::kFunction});
    recorder->end_op(this);
    ++written_->ops;
  }

  std::int64_t stored_lost() const {
    const auto losses = reader_->losses();
    EXPECT_TRUE(losses.ok());
    std::int64_t lost = 0;
    for (const Loss& loss : *losses) lost += loss.count;
    return lost;
  }
  // Nothing that was written is missing; the event that was under way at a death may be there too.
  void expect_all_stored() const {
    const auto phases = static_cast<std::int64_t>((*reader_->phases()).size());
    const std::int64_t ops = *reader_->op_count();
    const std::int64_t wrote = written_->phases + written_->ops;
    EXPECT_GE(phases + ops + stored_lost(), wrote);
    EXPECT_LE(phases + ops + stored_lost(), wrote + 1);
  }

  std::string path_;
  Written* written_;
  std::unique_ptr<RunRecorder> recorder_;
  std::unique_ptr<TraceReader> reader_;
};

}  // namespace stepscope::testing
