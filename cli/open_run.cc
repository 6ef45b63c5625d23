#include "cli/open_run.h"

#include <algorithm>
#include <chrono>

#include "cli/lake_run.h"
#include "terminal/progress_line.h"

namespace stepscope::cli {

Result<OpenedRun> open_run(const std::string& path, const std::string& label) {
  ProgressLine line(std::chrono::seconds(1));
  auto run = OpenedRun::open(path, [&](std::int64_t done, std::int64_t total) {
    const std::string& name = label.empty() ? path : label;
    line.update([&] { return "importing " + name + ": " + millions_of(done, total) + " MB"; });
  });
  if (!run.ok()) return failure_to_open(path, run.status());
  return run;
}

Result<OpenedRun> open_run_to_follow(const std::string& path) {
  auto run = open_run(path);
  if (run.ok()) run->close_reader();
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

}  // namespace stepscope::cli
