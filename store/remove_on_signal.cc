#include "store/remove_on_signal.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "store/mutex.h"

namespace stepscope {
namespace {

// What the signal handler must know. It may run in any thread at any point, so the path is stored
// here, where it cannot be freed.
struct Listed {
  std::atomic<bool> there = false;
  std::array<char, 4096> path{};
};
std::array<Listed, 8> listed;  // no command needs more
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
    if (!one.there || ::unlink(one.path.data()) == 0) continue;
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

std::atomic<bool> is_ending = false;

// A second signal may come to another thread meanwhile: timeout(1) sends one to the program and one
// to its group. Its default action would end the removing.
extern "C" void on_ending_signal(int signal) {
  if (is_ending.exchange(true)) return;
  remove_listed();
  std::signal(signal, SIG_DFL);
  ::raise(signal);  // pending until this handler returns
}

void handle_signals() {
  struct sigaction action{};
  action.sa_handler = on_ending_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void remove_on_signal(const std::string& path) {
  const MutexLock lock(list_mutex);
  handle_signals();
  for (Listed& one : listed) {
    if (one.there || path.size() >= one.path.size()) continue;
    std::memcpy(one.path.data(), path.c_str(), path.size() + 1);
    one.there = true;
    return;
  }
}

void keep_on_signal(const std::string& path) {
  const MutexLock lock(list_mutex);
  for (Listed& one : listed) {
    if (one.there && path == one.path.data()) one.there = false;
  }
}

}  // namespace stepscope
