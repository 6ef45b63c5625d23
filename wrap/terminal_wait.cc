#include "wrap/terminal_wait.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "profiler/channel/owned_fd.h"

namespace stepscope {
namespace {

// The number of the call that the thread is in, and its first argument: "0 0x3 0x7ffe… …", or
// "running".
bool read_call(const std::string& folder, long& number, unsigned long& argument) {
  const OwnedFd file(open((folder + "/syscall").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  if (!file || read(file.get(), text.data(), text.size() - 1) <= 0) return false;
  char* end = nullptr;
  number = std::strtol(text.data(), &end, 10);
  if (end == text.data()) return false;
  argument = std::strtoul(end, nullptr, 16);
  return true;
}

bool is_select(long number) {
#ifdef SYS_select
  if (number == SYS_select) return true;
#endif
  return number == SYS_pselect6;
}

}  // namespace

bool waits_for_terminal(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  long number = 0;
  unsigned long descriptor = 0;
  if (!read_call(folder, number, descriptor)) return false;
  if (is_select(number)) {
    if (descriptor == 0) return false;
    --descriptor;  // it was the highest one and 1
  } else if (number != SYS_read) {
    return false;
  }
  std::array<char, 64> path{};
  const std::string link = folder + "/fd/" + std::to_string(descriptor);
  if (readlink(link.c_str(), path.data(), path.size() - 1) <= 0) return false;
  const std::string target = path.data();
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
         target == "/dev/console";
}

}  // namespace stepscope
