#include "present/file_summary.h"

#include <algorithm>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/path_argument.h"
#include "store/counted.h"

namespace stepscope {

std::string export_summary(const std::string& output, std::optional<double> bytes,
                           const ChromeTraceSummary& summary) {
  std::string text = printable(output) + ": " + counted(summary.ops, "op") + ", " +
                     counted(summary.steps, "step") + ", " + counted(summary.phases, "phase");
  if (summary.activities > 0)
    text += ", " + counted(summary.activities, "device activity", "device activities");
  if (bytes) text += ", " + bytes_text(*bytes);
  return text +
         "\nopen it at https://ui.perfetto.dev (it stays on your machine) or chrome://tracing\n";
}

std::string import_summary(const std::string& output, const ImportSummary& summary) {
  const std::string store = printable(output), word = path_argument(output);
  const ImportCounts& counts = summary.counts;
  std::string text = store + ": " + counted(counts.ops, "op") + ", " +
                     counted(counts.kernels, "kernel") + ", " +
                     counted(counts.copies, "copy", "copies") + ", " +
                     counted(counts.memsets, "memset") + ", " + counted(counts.calls, "API call");
  if (summary.files.size() > 1) text += " of " + std::to_string(summary.files.size()) + " ranks";
  text += " (" + printable(summary.files.front().format) + ")\n";
  const auto events_were = [](std::int64_t count) {
    return counted(count, "event was", "events were");
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
    text += summary.python_functions == 1
                ? "1 call of a Python function was left out, because it is not an op\n"
                : std::to_string(summary.python_functions) +
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
