// Where the file of a recording is, which somebody may move, delete or replace meanwhile.
#pragma once

#include <array>
#include <filesystem>

#include "profiler/channel/owned_fd.h"
#include "store/database_file.h"

namespace stepscope {

// Thread safety: none.
class StorePlace {
 public:
  StorePlace() = default;
  // Follows the store at `store`, which SQLite has open, with its log.
  explicit StorePlace(const std::filesystem::path& store);

  // Where the store is now; empty: it was deleted, or moved to another disk.
  [[nodiscard]] std::filesystem::path now() const;
  // Whether another file is where the store was.
  [[nodiscard]] bool is_taken() const;
  // Removes the log that SQLite left where the store was. Whoever opens the other file that is
  // there would apply it to that.
  void remove_logs() const;

 private:
  struct Held {
    std::filesystem::path path;  // absolute
    OwnedFd file;                // opened with O_PATH: closing it releases no lock
  };
  static Held hold(const std::filesystem::path& path);

  Held store_;
  std::array<Held, kSideFileSuffixes.size()> logs_;
};

}  // namespace stepscope
