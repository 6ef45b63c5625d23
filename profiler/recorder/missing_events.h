// For a store that could not be written to the end: records why at once, for whoever watches the
// run, and at its end how many events are missing. The usual reason is a full disk, so a little
// space is reserved for both.
//
// Thread safety: none; used by one recorder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "profiler/channel/owned_fd.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

class MissingEvents {
 public:
  // Reserves space on the disk of `store`, if its file system supports that. If it does not,
  // nothing can be recorded on a full disk.
  explicit MissingEvents(const std::filesystem::path& store);

  // Releases half of the space and stores `why` as the meta key "recording_stopped" in the store of
  // `writer`, which has stopped writing. On an error, only store() will say it.
  Status announce(TraceWriter& writer, const std::string& why);

  // Releases the space, stores `events` as the loss "unwritten" and `why` as the meta key
  // "recording_stopped", and marks everything written before as complete. The store's own writer
  // must be closed. On an error, the disk is still full, and nothing more can be done.
  Status store(std::int64_t events, const std::string& why);

 private:
  const std::filesystem::path store_;
  OwnedFd reserved_;
};

}  // namespace stepscope
