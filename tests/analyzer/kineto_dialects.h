// A trace of the PyTorch profiler, as each of its versions wrote it.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

// One training step on a GPU: a batch is awaited and copied, a layer runs forward and backward, the
// optimizer steps. `us` writes a time, `event` an event with the dialect's words.
struct Dialect {
  const char* name;
  const char* op;
  const char* annotation;
  const char* kernel;
  const char* copy;
  const char* memset;
  const char* call;
  const char* flow;
  const char* before;  // members before the events
  const char* after;   // and after them
  std::string (*us)(double);
  bool engine;  // autograd's engine has ops of its own
};

inline std::string whole(double us) {
  return std::to_string(1623142623460000 + static_cast<std::int64_t>(us));
}
inline std::string with_quarters(double us) { return whole(us) + ".25"; }
inline std::string relative(double us) {
  return std::to_string(4429449912000 + static_cast<std::int64_t>(us)) + ".250";
}

inline constexpr Dialect kDialects[] = {
    {"PyTorch profiler, 2021", "Operator", "Operator", "Kernel", "Memcpy", "Memset", "Runtime",
     "async",
     R"("schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "V100", "totalGlobalMem": 34084028416,
        "computeMajor": 7, "computeMinor": 0, "numSms": 80}],)",
     "", whole, false},
    {"PyTorch profiler, 2022-23", "cpu_op", "user_annotation", "kernel", "gpu_memcpy", "gpu_memset",
     "cuda_runtime", "async_cpu_to_gpu",
     R"("schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "V100"}],
        "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},)",
     "", whole, true},
    {"PyTorch profiler, early 2024", "cpu_op", "user_annotation", "kernel", "gpu_memcpy",
     "gpu_memset", "cuda_driver", "ac2g", R"("displayTimeUnit": "ms", "deviceProperties": [],)", "",
     with_quarters, true},
    {"PyTorch profiler, since May 2024", "cpu_op", "user_annotation", "kernel", "gpu_memcpy",
     "gpu_memset", "cuda_runtime", "ac2g", R"("displayTimeUnit": "ms",)",
     R"(, "host_name": "node7", "baseTimeNanoseconds": 1790857026000000000)", relative, true},
};

class TraceText {
 public:
  explicit TraceText(const Dialect& dialect) : d_(dialect) {}

  TraceText& event(const std::string& category, const std::string& name, const std::string& tid,
                   double start, double dur, const std::string& args = "") {
    // Old traces have string ids of threads, and their keys come in another order.
    return raw(R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" +
               (tid.starts_with("stream") ? "0" : "42") + R"(, "tid": ")" + tid + R"(", "ts": )" +
               d_.us(start) + R"(, "dur": )" + std::to_string(dur) + R"(, "args": {)" + args +
               "}}");
  }
  TraceText& raw(const std::string& event) {
    events_ += (events_.empty() ? "" : ",\n") + event;
    return *this;
  }
  [[nodiscard]] std::string text() const {
    return std::string("{") + d_.before + "\"traceEvents\": [" + events_ + "]" + d_.after + "}";
  }

 private:
  const Dialect& d_;
  std::string events_;
};

inline std::string training_step(const Dialect& d) {
  TraceText t(d);
  t.event(d.op, "aten::linear", "7", 120, 30,
          R"("External id": 3, "Sequence number": 9, "Fwd thread id": 0,
          "Input Dims": [[64, 784], [128], []], "Call stack": "train.py(3): <module>")");
  t.event(d.op, "aten::addmm", "7", 125, 20, R"("External id": 4)");
  t.event(d.annotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "7", 10, 80);
  if (d.engine) {
    t.event(d.op, "autograd::engine::evaluate_function: AddmmBackward0", "8", 200, 50,
            R"("External id": 6, "Sequence number": 9, "Fwd thread id": 1)");
  }
  t.event(d.op, "AddmmBackward0", "8", 200, 50,
          R"("External id": 7, "Sequence number": 9, "Fwd thread id": 1)");
  t.event(d.op, "torch::autograd::AccumulateGrad", "8", 260, 10, R"("External id": 8)");
  t.event(d.annotation, "Optimizer.step#SGD.step", "7", 300, 40);
  t.event(d.annotation, "Optimizer.zero_grad#SGD.zero_grad", "7", 350, 5);
  t.event(d.annotation, "ProfilerStep#5", "7", 0, 400);
  t.event("gpu_user_annotation", "ProfilerStep#5", "stream 7", 90, 300);
  t.event(d.copy, "Memcpy HtoD (Pageable -> Device)", "stream 7", 100, 9,
          R"("device": 0, "context": 1, "stream": 7, "correlation": 11, "bytes": 4096)");
  t.raw(R"({"ph": "f", "id": 11, "pid": 0, "tid": "stream 7", "ts": )" + d.us(100) +
        R"(, "cat": ")" + d.flow + R"(", "name": "launch", "bp": "e"})");
  t.event(d.call, "cudaMemcpyAsync", "7", 95, 14, R"("cbid": 41, "correlation": 11)");
  t.event(d.call, "cudaLaunchKernel", "7", 130, 6, R"("cbid": 211, "correlation": 12)");
  t.event(
      d.kernel, "sgemm<float, 2>(int)", "stream 7", 140, 55,
      R"("queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 12, "registers per thread": 38,
             "shared memory": 1024, "grid": [50, 2, 1], "block": [256, 1, 1])");
  t.event(d.memset, "Memset (Device)", "stream 20", 210, 1,
          R"("device": 0, "context": 1, "stream": 20, "correlation": 13, "bytes": 128)");
  t.event("Trace", "PyTorch Profiler (0)", "PyTorch Profiler", -16, 900);
  t.raw(
      R"x({"name": "thread_name", "ph": "M", "pid": 42, "tid": "8", "ts": 0, "args": {"name": "thread 8 (pt_autograd_0)"}})x");
  t.raw(R"({"name": "process_name", "ph": "M", "pid": 42, "tid": 0, "args": {"name": "python"}})");
  t.raw(R"({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": )" +
        d.us(999) + "}");
  return t.text();
}

}  // namespace stepscope
