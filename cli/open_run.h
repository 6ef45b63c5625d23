// A run as a verb is given it: a path of a store, or of another profiler's trace, which is imported
// into a temporary store first.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/analyze.h"
#include "store/temporary_folder.h"
#include "store/trace_reader.h"

namespace stepscope::cli {

class OpenedRun {
 public:
  // On a terminal standard error says how far an import is that takes more than a second; `label`
  // tells one of several runs from another ("A"). Errors: those of TraceReader::open(), for a trace
  // those of import_traces().
  static Result<OpenedRun> open(const std::string& path, const std::string& label = "");
  // For a verb that looks on for long, and reads store() whenever it wants to know more: no reader
  // stays open, since one of a running recording keeps its log from being folded in.
  static Result<OpenedRun> open_to_follow(const std::string& path);
  ~OpenedRun();
  OpenedRun(OpenedRun&& other) noexcept = default;
  OpenedRun& operator=(OpenedRun&&) = delete;

  // Not after open_to_follow().
  [[nodiscard]] const TraceReader& reader() const { return *reader_; }
  // The file of the store; gone with this object where the run was imported.
  [[nodiscard]] const std::filesystem::path& store() const { return store_; }
  // No call of anything after it: an imported run is gone.
  void discard() {
    reader_.reset();
    folder_.reset();
  }
  // A trace, nowhere to be found as a store once this object is gone.
  [[nodiscard]] bool imported() const { return folder_.has_value(); }

 private:
  OpenedRun() = default;

  std::optional<TemporaryFolder> folder_;  // of an imported run
  std::filesystem::path store_;
  std::unique_ptr<TraceReader> reader_;
};

// Analyses a run. On a terminal, once that has taken more than two seconds, standard error says how
// far it is. `options.progress` is replaced. Errors: those of analyze().
Result<AnalysisReport> analyze_run(const TraceReader& reader, AnalyzeOptions options,
                                   const std::string& label = "");

// The steps of an option such as --steps; nothing for "". Errors: kUsage, naming the option.
Result<std::optional<StepSpan>> read_step_window(const char* option, const std::string& text);

}  // namespace stepscope::cli
