#include "tests/viewer-export/testing/code_store.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_writer.h"

namespace stepscope::testing {
namespace {

constexpr std::int64_t kPid = 4242;  // of a SyntheticRun
constexpr std::int64_t kWorkerPid = 4720;

struct Call {
  std::string_view function;
  std::string_view file;
  std::int64_t line;
};

class StackRecorder {
 public:
  StackRecorder(TraceWriter& writer, const std::filesystem::path& folder)
      : writer_(writer), own_(folder / "train.py") {}

  Status write() {
    const auto loop = writer_.add_watched_thread({ProcessId{1}, kPid, kPid, "train"});
    const auto worker =
        writer_.add_watched_thread({ProcessId{1}, kWorkerPid, kWorkerPid, "pt_data_worker"});
    const auto odd = writer_.add_watched_thread({ProcessId{1}, kPid, 4730, "odd </script>"});
    if (!loop.ok() || !worker.ok() || !odd.ok()) return loop.status();
    loop_ = *loop;
    worker_ = *worker;
    odd_ = *odd;
    add_stacks();
    for (int i = 0; i < CodeRun::kRun.steps; ++i) add_step(CodeRun::kRun.step_start(i));
    if (Status status = writer_.add(frames_); !status.ok()) return status;
    return writer_.add(samples_);
  }

 private:
  // Returns the innermost.
  FrameId add_stack(FrameId caller, std::initializer_list<Call> calls) {
    for (const Call& call : calls) {
      frames_.push_back(
          {caller, writer_.intern(call.function), writer_.intern(call.file), call.line});
      caller = static_cast<FrameId>(frames_.size());
    }
    return caller;
  }

  void add_stacks() {
    const FrameId start = add_stack(FrameId::kNone, {{"<module>", own_, CodeRun::kMainLine}});
    const auto in_main = [&](std::int64_t line) {
      return add_stack(start, {{"main", own_, line}});
    };
    const FrameId wait = in_main(CodeRun::kWaitLine);
    wait_ = add_stack(wait, {{"_BaseDataLoaderIter.__next__", kLoader, 701}});
    forward_ = add_stack(in_main(CodeRun::kForwardLine),
                         {{"Module._call_impl", kModule, 1751}, {"Linear.forward", kLinear, 125}});
    backward_ = add_stack(in_main(CodeRun::kBackwardLine), {{"Tensor.backward", kTensor, 521}});
    optimizer_ = in_main(CodeRun::kOptimizerLine);
    const FrameId worker = add_stack(
        wait, {{"BaseProcess._bootstrap", kProcess, 314}, {"_worker_loop", kWorker, 349}});
    idle_ = add_stack(worker, {{"Queue.get", kQueues, 103}});
    const FrameId item = add_stack(worker, {{"Data.__getitem__", own_, CodeRun::kGetItemLine}});
    decode_ = add_stack(item, {{"decode", own_, CodeRun::kDecodeLine}});
    read_file_ = add_stack(item, {{"read_file", own_, CodeRun::kReadFileLine}});
    for (const std::string_view name : {"<img src=x onerror=\"document.title='taken over'\">",
                                        "</script><script>document.title='taken over'</script>",
                                        "right-to-left \u202e __proto__"}) {
      hostile_.push_back(add_stack(FrameId::kNone, {{name, "/far/from/the/run/<b>odd</b>.py", 3}}));
    }
  }

  void look(WatchedThreadId thread, SessionTime at, FrameId frame, bool awaited,
            std::string_view blocked = "") {
    samples_.push_back({thread, at, frame, awaited, writer_.intern(blocked)});
  }

  void add_step(SessionTime start) {
    const SyntheticRun& run = CodeRun::kRun;
    const SessionTime forward = start + run.input, backward = forward + run.forward,
                      optimizer = backward + run.backward, host = optimizer + run.optimizer;
    std::int64_t look_number = 0;
    for (SessionTime at = start + CodeRun::kEvery / 2; at < host; at += CodeRun::kEvery) {
      if (at >= forward) {
        look(loop_, at, at < backward ? forward_ : at < optimizer ? backward_ : optimizer_, false);
        continue;
      }
      look(loop_, at, wait_, false, "poll");
      if (look_number++ % 3 < 2) {
        look(worker_, at, decode_, true);
      } else {
        look(worker_, at, read_file_, true, "sleep");
      }
    }
    look(worker_, host, idle_, false, "poll");
    for (const FrameId frame : hostile_) look(odd_, host, frame, false);
  }

  static constexpr std::string_view kLoader =
      "/nowhere/lib/python3.11/site-packages/torch/utils/data/dataloader.py";
  static constexpr std::string_view kModule =
      "/nowhere/lib/python3.11/site-packages/torch/nn/modules/module.py";
  static constexpr std::string_view kLinear =
      "/nowhere/lib/python3.11/site-packages/torch/nn/modules/linear.py";
  static constexpr std::string_view kTensor =
      "/nowhere/lib/python3.11/site-packages/torch/_tensor.py";
  static constexpr std::string_view kWorker =
      "/nowhere/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py";
  static constexpr std::string_view kProcess = "/nowhere/lib/python3.11/multiprocessing/process.py";
  static constexpr std::string_view kQueues = "/nowhere/lib/python3.11/multiprocessing/queues.py";

  TraceWriter& writer_;
  std::string own_;
  WatchedThreadId loop_{}, worker_{}, odd_{};
  FrameId wait_{}, forward_{}, backward_{}, optimizer_{}, idle_{}, decode_{}, read_file_{};
  std::vector<FrameId> hostile_;
  std::vector<StackFrame> frames_;
  std::vector<StackSample> samples_;
};

}  // namespace

Status make_code_store(const std::filesystem::path& path, const std::filesystem::path& folder) {
  auto writer = TraceWriter::create(path);
  if (!writer.ok()) return writer.status();
  Status status = record(CodeRun::kRun, **writer);
  if (status.ok()) status = (*writer)->set_meta("working_folder", folder.string());
  if (status.ok()) status = StackRecorder(**writer, folder).write();
  if (status.ok()) status = (*writer)->replace_analysis(true_analysis(CodeRun::kRun));
  return status.ok() ? (*writer)->finish() : status;
}

}  // namespace stepscope::testing
