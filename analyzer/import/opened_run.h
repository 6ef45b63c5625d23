// A run that the user names by its path: a store, or a trace of another profiler, which is first
// imported into a temporary store.
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
  // Progress of an import: the bytes read and the total.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

  // Errors: those of TraceReader::open(), for a trace those of import_traces().
  static Result<OpenedRun> open(const std::string& path, const Progress& progress = {});
  ~OpenedRun();
  OpenedRun(OpenedRun&& other) noexcept = default;
  OpenedRun& operator=(OpenedRun&&) = delete;

  // Must not be called after close_reader().
  [[nodiscard]] const TraceReader& reader() const { return *reader_; }
  // The file of the store. If the run was imported, it is deleted with this object.
  [[nodiscard]] const std::filesystem::path& store() const { return store_; }
  // For views that stay open for long and read store() themselves: an open reader keeps the log of
  // a running recording from being folded in.
  void close_reader() { reader_.reset(); }
  // No other method may be called after it: an imported run is deleted.
  void discard() {
    reader_.reset();
    folder_.reset();
  }
  // Whether the run was a trace, so that there is no store once this object is gone.
  [[nodiscard]] bool imported() const { return folder_.has_value(); }

 private:
  OpenedRun() = default;

  std::optional<TemporaryFolder> folder_;  // of an imported run
  std::filesystem::path store_;
  std::unique_ptr<TraceReader> reader_;
};

}  // namespace stepscope
