#include "cli/open_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "analyzer/import/import.h"
#include "cli/progress_line.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

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

OpenedRun::~OpenedRun() { reader_.reset(); }

Result<OpenedRun> OpenedRun::open(const std::string& path, const std::string& label) {
  OpenedRun run;
  fs::path store = path;
  if (is_trace(path)) {
    auto folder = TemporaryFolder::make();
    if (!folder.ok()) return folder.status();
    run.folder_ = *std::move(folder);
    store = run.folder_->path() / "run.db";
    if (Status status = import_to(path, store, label.empty() ? path : label); !status.ok())
      return status;
  }
  auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  run.store_ = std::move(store);
  run.reader_ = *std::move(reader);
  return run;
}

Result<OpenedRun> OpenedRun::open_to_follow(const std::string& path) {
  auto run = open(path);
  if (run.ok()) run->reader_.reset();
  return run;
}

Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label) {
  const auto ops = reader.op_count();
  if (!ops.ok()) return ops.status();
  ProgressLine line(std::chrono::seconds(2));
  const std::string what = label.empty() ? "reading ops: " : "reading ops of " + label + ": ";
  options.progress = [&, total = std::max<std::int64_t>(*ops, 1)](std::int64_t done) {
    line.update([&] { return what + std::to_string(done * 100 / total) + " %"; });
  };
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
