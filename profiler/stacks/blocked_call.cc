#include "profiler/stacks/blocked_call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "store/utf8.h"

namespace stepscope {
namespace {

struct Call {
  long number;
  const char* name;
  bool of_descriptor = false;  // its first argument is a descriptor
};

// The calls in which programs are commonly found waiting.
constexpr Call kCalls[] = {
    {SYS_read, "read", true},
    {SYS_pread64, "pread", true},
    {SYS_readv, "readv", true},
    {SYS_preadv, "preadv", true},
    {SYS_write, "write", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_writev, "writev", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_ftruncate, "ftruncate", true},
    {SYS_fallocate, "fallocate", true},
    {SYS_getdents64, "getdents", true},
    {SYS_recvfrom, "recv", true},
    {SYS_recvmsg, "recv", true},
    {SYS_sendto, "send", true},
    {SYS_sendmsg, "send", true},
    {SYS_sendfile, "sendfile", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept", true},
    {SYS_connect, "connect", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_flock, "flock", true},
    {SYS_openat, "open"},
    {SYS_newfstatat, "stat"},
    {SYS_statx, "stat"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "sleep"},
    {SYS_clock_nanosleep, "sleep"},
    {SYS_wait4, "wait"},
    {SYS_waitid, "wait"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_madvise, "madvise"},
    {SYS_msync, "msync"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_open, "open"},
    {SYS_stat, "stat"},
#endif
};

constexpr std::size_t kMaxPathBytes = 512;

// What a descriptor of the process refers to: a path, or, without one, 'a pipe' or 'a socket'.
std::string descriptor_name(pid_t pid, std::uint64_t fd) {
  const std::string link = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  std::array<char, kMaxPathBytes> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return {};
  const std::string_view path(target.data(), static_cast<std::size_t>(size));
  if (path.starts_with("pipe:")) return "a pipe";
  if (path.starts_with("socket:")) return "a socket";
  if (path.starts_with("anon_inode:")) return {};
  return clean_utf8(path);
}

}  // namespace

bool says_running(std::string_view text) { return text.starts_with("running"); }

std::optional<std::string> blocked_call(std::string_view text, pid_t pid) {
  const char* const end = text.data() + text.size();
  long number = 0;
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc()) return std::nullopt;
  if (number < 0) return "a page fault";
  const auto* const call = std::ranges::find(kCalls, number, &Call::number);
  if (call == std::end(kCalls)) return "system call " + std::to_string(number);
  constexpr std::string_view kHex = " 0x";
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (!call->of_descriptor || !rest.starts_with(kHex)) return call->name;
  std::uint64_t fd = 0;
  if (std::from_chars(rest.data() + kHex.size(), end, fd, 16).ec != std::errc()) return call->name;
  const std::string name = descriptor_name(pid, fd);
  return name.empty() ? std::string(call->name) : std::string(call->name) + ' ' + name;
}

}  // namespace stepscope
