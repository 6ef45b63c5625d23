// What a store says of its own gap, once it could not be written to the end: how many events are
// missing, and why. The usual reason is a full disk, so a little of it is held back for this.
//
// Thread safety: none; one recorder's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "profiler/channel/owned_fd.h"
#include "store/status.h"

namespace stepscope {

class MissingEvents {
 public:
  // Holds space back on the disk of `store`; nothing where its file system cannot: then a full disk
  // keeps what is missing to itself.
  explicit MissingEvents(const std::filesystem::path& store);

  // Gives the space up and stores `events` as the loss "unwritten", `why` as the meta key
  // "recording_stopped", and what had been written before as complete. The store's own writer is
  // closed by now. On error the disk is as full as before, and nothing can be done.
  Status store(std::int64_t events, const std::string& why);

 private:
  const std::filesystem::path store_;
  OwnedFd reserved_;
};

}  // namespace stepscope
