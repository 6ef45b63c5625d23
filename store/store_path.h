// What may happen to a path that is to become a store. Internal to store/.
#pragma once

#include <filesystem>

#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {

// A new, empty file at `path`, locked for recording and writing. What is there already is moved
// aside or refused, as TraceWriter::create() says.
Result<StoreFile> claim_path(const std::filesystem::path& path, ExistingStore existing);

}  // namespace stepscope
