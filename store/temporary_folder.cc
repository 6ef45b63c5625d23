#include "store/temporary_folder.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "store/mutex.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// What the signal handler must know about a folder. It may run in any thread at any point, so the
// path is stored here, where it cannot be freed.
struct Listed {
  std::atomic<bool> there = false;
  std::array<char, 4096> path{};
};
std::array<Listed, 4> listed;  // no command needs more; on a signal, further ones stay behind
Mutex list_mutex;              // held while the list is changed

// A record of getdents64(2), which glibc does not declare.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  unsigned char type;
  char name[1];
};

// Uses only calls that are allowed in a signal handler: no opendir(), no std::filesystem.
void remove_files(int folder) {
  alignas(DirectoryEntry) std::array<char, 4096> entries;
  while (true) {
    const long size = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry*>(entries.data() + at);
      ::unlinkat(folder, entry->name, 0);  // refuses "." and ".."
      at += entry->size;
    }
  }
}

void remove_listed() {
  constexpr int kTries = 3;  // another thread may be about to make a file
  for (const Listed& one : listed) {
    if (!one.there) continue;
    const int folder = ::open(one.path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;
    for (int i = 0; i < kTries; ++i) {
      ::lseek(folder, 0, SEEK_SET);
      remove_files(folder);
      if (::rmdir(one.path.data()) == 0) break;
    }
    ::close(folder);
  }
}

extern "C" void on_ending_signal(int signal) {
  remove_listed();
  ::raise(signal);  // now has its default action: SA_RESETHAND
}

// If a command handles a signal itself, its handler stays in place.
void remove_on_signals() {
  struct sigaction action{};
  action.sa_handler = on_ending_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

void list(const std::string& path) {
  const MutexLock lock(list_mutex);
  remove_on_signals();
  for (Listed& one : listed) {
    if (one.there || path.size() >= one.path.size()) continue;
    std::memcpy(one.path.data(), path.c_str(), path.size() + 1);
    one.there = true;
    return;
  }
}

void unlist(const std::string& path) {
  const MutexLock lock(list_mutex);
  for (Listed& one : listed) {
    if (one.there && path == one.path.data()) one.there = false;
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code code;
  std::string folder = (fs::temp_directory_path(code) / "stepscope-XXXXXX").string();
  if (!code && mkdtemp(folder.data()) != nullptr) {
    list(folder);
    return TemporaryFolder(folder);
  }
  return Status::error(ErrorKind::kIo,
                       folder + ": a temporary folder cannot be created there; set TMPDIR");
}

void TemporaryFolder::Remove::operator()(const fs::path* path) const {
  std::error_code ignored;
  fs::remove_all(*path, ignored);
  unlist(path->string());
  delete path;
}

}  // namespace stepscope
