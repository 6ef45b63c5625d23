// What may happen to a path that is to become a store.
#pragma once

#include <filesystem>
#include <string_view>

#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {

// A new file of `content` at `path`, locked for recording and writing. What is there already is
// moved aside or refused, as TraceWriter::create() says; of another kind it is always refused.
Result<StoreFile> claim_path(const std::filesystem::path& path, ExistingStore existing,
                             std::string_view content, StoreKind kind = StoreKind::kRecording);

// What TraceWriter::create() would refuse at `path`, without touching anything.
Status check_path(const std::filesystem::path& path);

// Moves the finished store at `from` to `path`. An existing file is moved aside, as by
// claim_path(kKeepAsOld).
Status move_store(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace stepscope
