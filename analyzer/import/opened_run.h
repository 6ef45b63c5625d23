// A run as somebody names it: the path of a store, or of another profiler's trace, which is
// imported into a temporary store first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "store/temporary_folder.h"
#include "store/trace_reader.h"

namespace stepscope {

class OpenedRun {
 public:
  // Of an import: the bytes read and the total.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

  // Errors: those of TraceReader::open(), for a trace those of import_traces().
  static Result<OpenedRun> open(const std::string& path, const Progress& progress = {});
  ~OpenedRun();
  OpenedRun(OpenedRun&& other) noexcept = default;
  OpenedRun& operator=(OpenedRun&&) = delete;

  // Not after close_reader().
  [[nodiscard]] const TraceReader& reader() const { return *reader_; }
  // The file of the store; gone with this object where the run was imported.
  [[nodiscard]] const std::filesystem::path& store() const { return store_; }
  // For whoever looks on for long, and reads store() to know more: a reader of a running recording
  // keeps its log from being folded in.
  void close_reader() { reader_.reset(); }
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

}  // namespace stepscope
