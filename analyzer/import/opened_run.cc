#include "analyzer/import/opened_run.h"

#include <utility>

#include "analyzer/import/import.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

Status import_to(const fs::path& trace, const fs::path& store,
                 const OpenedRun::Progress& progress) {
  ImportOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    if (progress) progress(done, total);
    return true;
  };
  return import_traces({trace}, store, options).status();
}

}  // namespace

OpenedRun::~OpenedRun() { reader_.reset(); }

Result<OpenedRun> OpenedRun::open(const std::string& path, const Progress& progress) {
  OpenedRun run;
  fs::path store = path;
  if (is_trace(path)) {
    auto folder = TemporaryFolder::make();
    if (!folder.ok()) return folder.status();
    run.folder_ = *std::move(folder);
    store = run.folder_->path() / "run.db";
    if (Status status = import_to(path, store, progress); !status.ok()) return status;
  }
  auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  run.store_ = std::move(store);
  run.reader_ = *std::move(reader);
  return run;
}

}  // namespace stepscope
