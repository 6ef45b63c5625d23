#include "cli/open_run.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "analyzer/import/import.h"
#include "cli/progress_line.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

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

Result<fs::path> make_private_folder() {
  std::error_code code;
  std::string folder = (fs::temp_directory_path(code) / "stepscope-XXXXXX").string();
  if (!code && mkdtemp(folder.data()) != nullptr) return fs::path(folder);
  return Status::error(ErrorKind::kIo, folder + ": a temporary folder cannot be made; set TMPDIR");
}

Status import_to(const fs::path& trace, const fs::path& store, const std::string& label) {
  ProgressLine line(std::chrono::seconds(1));
  ImportOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    line.update([&] { return "importing " + label + ": " + millions_of(done, total) + " MB"; });
    return true;
  };
  return import_traces({trace}, store, options).status();
}

}  // namespace

void OpenedRun::RemoveFolder::operator()(const fs::path* folder) const {
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
  delete folder;
}

OpenedRun::~OpenedRun() { reader_.reset(); }

Result<OpenedRun> OpenedRun::open(const std::string& path, const std::string& label) {
  OpenedRun run;
  fs::path store = path;
  if (is_trace(path)) {
    const auto folder = make_private_folder();
    if (!folder.ok()) return folder.status();
    run.folder_.reset(new fs::path(*folder));
    store = *folder / "run.db";
    if (Status status = import_to(path, store, label.empty() ? path : label); !status.ok())
      return status;
  }
  auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  run.reader_ = *std::move(reader);
  return run;
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
