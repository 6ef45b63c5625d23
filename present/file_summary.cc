#include "present/file_summary.h"

#include <algorithm>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/path_argument.h"

namespace stepscope {

std::string export_summary(const std::string& output, std::optional<double> bytes,
                           const ChromeTraceSummary& summary) {
  std::string text = printable(output) + ": " + std::to_string(summary.ops) + " ops, " +
                     std::to_string(summary.steps) + " steps, " + std::to_string(summary.phases) +
                     " phases";
  if (summary.activities > 0)
    text += ", " + std::to_string(summary.activities) + " device activities";
  if (bytes) text += ", " + bytes_text(*bytes);
  return text +
         "\nopen it at https://ui.perfetto.dev (it stays on your machine) or chrome://tracing\n";
}

std::string import_summary(const std::string& output, const ImportSummary& summary) {
  const std::string store = printable(output), word = path_argument(output);
  const ImportCounts& counts = summary.counts;
  std::string text = store + ": " + std::to_string(counts.ops) + " ops, " +
                     std::to_string(counts.kernels) + " kernels, " + std::to_string(counts.copies) +
                     " copies, " + std::to_string(counts.memsets) + " memsets, " +
                     std::to_string(counts.calls) + " API calls";
  if (summary.files.size() > 1) text += " of " + std::to_string(summary.files.size()) + " ranks";
  text += " (" + printable(summary.files.front().format) + ")\n";
  const auto events_were = [](std::int64_t count) {
    return count == 1 ? "1 event was" : std::to_string(count) + " events were";
  };
  if (const std::int64_t invalid = summary.lost - summary.incomplete; invalid > 0) {
    text += events_were(invalid) + " invalid and left out or shortened; to list them: sqlite3 " +
            word + " \"select * from loss\"\n";
  }
  if (summary.incomplete > 0) {
    text += events_were(summary.incomplete) +
            " left out, because only complete events are read (\"ph\": \"X\")\n";
  }
  if (summary.python_functions > 0) {
    text += std::to_string(summary.python_functions) +
            " calls of Python functions were left out, because they are not ops\n";
  }
  if (std::ranges::any_of(summary.files, &ImportedFile::exported)) {
    text +=
        "this is stepscope's own export: analyze the store that it came from; that has more, and "
        "its "
        "figures are better\n";
  }
  return text + "next: stepscope analyze " + word + "\n";
}

}  // namespace stepscope
