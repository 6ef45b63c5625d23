// What may happen to a path that is to become a store.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {

// A new file of `content` at `path`, locked for recording and writing. What is there already is
// kept as PATH.old or refused, as TraceWriter::create() says; of another kind it is always refused.
// At any moment `path` leads to the former store or to the new one, also for whoever looks after a
// kill; where the file system has no hard links, after a kill PATH.old may be the only one.
Result<StoreFile> claim_path(const std::filesystem::path& path, ExistingStore existing,
                             std::string_view content, StoreKind kind = StoreKind::kRecording);

// What TraceWriter::create() would refuse at `path`, without touching anything.
Status check_path(const std::filesystem::path& path);

// Where a store is at `path`: claims it for a claim_path() to come, until when it stays as it is.
// To be released just before. Nothing where the path is free. Errors: what create() would refuse,
// and kIo where it could make no file.
Result<std::optional<StoreFile>> claim_existing(const std::filesystem::path& path);

// Moves the finished store at `from` to `path`. An existing file is moved aside, as by
// claim_path(kKeepAsOld).
Status move_store(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace stepscope
