#include "cli/open_run.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "store/trace_reader.h"

namespace stepscope::cli {
namespace {

class Progress {
 public:
  Progress(std::int64_t total, std::string label)
      : total_(total), label_(std::move(label)), wanted_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done) {
    using namespace std::chrono_literals;
    if (!wanted_ || std::chrono::steady_clock::now() - begin_ < 2s) return;
    const double share = static_cast<double>(done) / static_cast<double>(total_ > 0 ? total_ : 1);
    std::fprintf(stderr, "\rreading ops%s%s: %.0f %%", label_.empty() ? "" : " of ", label_.c_str(),
                 share * 100);
    shown_ = true;
  }

 private:
  std::int64_t total_;
  std::string label_;
  bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<AnalysisReport> analyze_run(const std::string& path, AnalyzeOptions options,
                                   const std::string& label) {
  const auto reader = TraceReader::open(path);
  if (!reader.ok()) return reader.status();
  return analyze_run(**reader, std::move(options), label);
}

Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label) {
  const auto ops = reader.op_count();
  if (!ops.ok()) return ops.status();
  Progress progress(*ops, label);
  options.progress = [&progress](std::int64_t done) { progress.show(done); };
  return analyze(reader, options);
}

Result<std::optional<StepSpan>> read_step_window(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<StepSpan>();
  const auto window = parse_step_window(text);
  if (!window) {
    return Status::error(ErrorKind::kUsage,
                         std::string(option) + " " + text + ": not a range; write 500-520 or 500");
  }
  return window;
}

}  // namespace stepscope::cli
