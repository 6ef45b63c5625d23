// Claims the path of a new store, and preserves the store that is already there.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {

// Makes a file with `content` at `path`, locked for recording and writing. A store that is already
// there is kept as PATH.old or refused, as TraceWriter::create() says; a file of any other kind is
// always refused. At any moment `path` leads to the former store or to the new one, even after a
// kill. If the file system has no hard links, only PATH.old may be left after a kill.
Result<StoreFile> claim_path(const std::filesystem::path& path, ExistingStore existing,
                             std::string_view content, StoreKind kind = StoreKind::kRecording);

// The error with which TraceWriter::create() would refuse `path`. Touches nothing.
Status check_path(const std::filesystem::path& path);

// If there is a store at `path`, claims it for a later claim_path(); until then, nobody can replace
// it. Release the claim just before that call. Returns nothing if the path is free. Errors: those
// with which create() would refuse, and kIo if it could not make a file.
Result<std::optional<StoreFile>> claim_existing(const std::filesystem::path& path);

// Moves the finished store at `from` to `path`. An existing file is moved aside, as by
// claim_path(kKeepAsOld).
Status move_store(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace stepscope
