#include "profiler/channel/client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "profiler/channel/channel_format.h"
#include "profiler/channel/socket_address.h"
#include "profiler/channel/socket_patience.h"
#include "profiler/identity/job_variables.h"
#include "profiler/ring/clock.h"

namespace stepscope {
namespace {

class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_;
};

std::int64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 ? value : -1;
}

// The rank according to the first launcher that sets one.
std::int64_t rank_of_process() {
  for (const JobVariable& row : kJobVariables) {
    if (row.fact != JobFact::kRank) continue;
    if (row.tasks != nullptr && number_in(row.tasks) <= 1) continue;
    if (const std::int64_t rank = number_in(row.name); rank >= 0) return rank;
  }
  return -1;
}

// A recorder that is running and has little to do answers within 1 ms.
constexpr std::chrono::milliseconds kBriefPatience{20};

// What this process and those that it was forked from have found out about the recorder.
class RecorderSilence {
 public:
  explicit RecorderSilence(RegionHeader* inherited)
      : inherited_(inherited), beat_(inherited == nullptr ? 0 : inherited->heartbeat.load()) {}

  [[nodiscard]] std::chrono::milliseconds patience() const {
    const bool silent = beat_ == 0 ? was_silent.load() : inherited_->silent_beat.load() == beat_;
    if (silent) return kBriefPatience;
    return std::chrono::seconds(kRecorderPatienceSeconds);
  }
  void has_ended() { was_silent = false; }
  // The recorder did not answer within patience().
  void note() {
    was_silent = true;
    if (beat_ != 0) inherited_->silent_beat = beat_;
  }

 private:
  // Also for the processes that are forked from this one.
  static inline std::atomic<bool> was_silent{false};

  RegionHeader* inherited_;
  std::uint64_t beat_;  // before waiting; 0: not known
};

// Whether the process that listens may have what a Hello carries: descriptors of this process's
// memory. When a recorder has ended, another user could listen under its name.
bool is_recorder_of_ours(int socket_fd) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

int open_socket(const char* path, SocketPlace place, std::chrono::milliseconds patience) {
  const SocketAddress address = socket_address(path, place);
  if (address.size == 0) return -1;
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // A recorder that is gone refuses at once; one that hangs must not block the program forever.
  set_patience(fd, patience);
  errno = 0;
  if (connect(fd, address.get(), address.size) == 0 && is_recorder_of_ours(fd)) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

// On failure, errno is that of the last connect(): EAGAIN if the recorder has not answered within
// `patience`.
int reach_recorder(const char* path, std::chrono::milliseconds patience) {
  int fd = open_socket(path, SocketPlace::kFile, patience);
  // Try twice, because a shortage of resources may be momentary; a recorder that is gone refuses
  // twice.
  if (fd < 0 && errno != EAGAIN) fd = open_socket(path, SocketPlace::kFile, patience);
  if (fd < 0 && errno != EAGAIN) fd = open_socket(path, SocketPlace::kAbstract, patience);
  return fd;
}

// The descriptors that a Hello of this process carries. It can be recorded without them.
class OwnMemory {
 public:
  OwnMemory() {
    fds_[kMemoryFd] = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    fds_[kMapsFd] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  }
  ~OwnMemory() {
    for (const int fd : fds_) {
      if (fd >= 0) close(fd);
    }
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  [[nodiscard]] bool is_open() const { return fds_[kMemoryFd] >= 0 && fds_[kMapsFd] >= 0; }
  [[nodiscard]] const int* fds() const { return fds_; }

 private:
  int fds_[kHelloFds];
};

bool send_hello(int socket_fd, const Hello& hello, const OwnMemory& memory) {
  iovec data{const_cast<Hello*>(&hello), sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kHelloFds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (memory.is_open()) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * kHelloFds);
    std::memcpy(CMSG_DATA(rights), memory.fds(), sizeof(int) * kHelloFds);
  }
  return sendmsg(socket_fd, &message, MSG_NOSIGNAL) == sizeof(hello);
}

bool say_hello(int socket_fd, bool is_ending) {
  Hello hello{};
  hello.is_ending = is_ending ? 1 : 0;
  hello.magic = kChannelMagic;
  hello.version = kChannelVersion;
  std::strncpy(hello.stepscope_version, STEPSCOPE_VERSION, sizeof(hello.stepscope_version) - 1);
  hello.parent_pid = getppid();
  hello.rank = rank_of_process();
  hello.monotonic_ns = read_clock_ns(CLOCK_MONOTONIC);
  return send_hello(socket_fd, hello, OwnMemory());
}

// The descriptor that came with a Welcome; -1 if the recorder refused or went away.
int receive_region(int socket_fd) {
  Welcome welcome{};
  iovec data{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != sizeof(welcome)) return -1;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
  if (welcome.magic == kChannelMagic && welcome.accepted == 1) return fd;
  close(fd);
  return -1;
}

}  // namespace

bool is_wrapped() {
  const char* path = std::getenv(kSocketVariable);
  return path != nullptr && *path != '\0';
}

Region connect_to_recorder(RegionHeader* inherited) {
  const KeepErrno keep;
  if (!is_wrapped()) return {};
  const char* path = std::getenv(kSocketVariable);
  RecorderSilence silence(inherited);
  const std::chrono::milliseconds patience = silence.patience();
  const int socket_fd = reach_recorder(path, patience);
  const int fd = socket_fd >= 0 && say_hello(socket_fd, false) ? receive_region(socket_fd) : -1;
  if (fd < 0 && errno == EAGAIN) silence.note();
  if (socket_fd >= 0) close(socket_fd);
  if (fd < 0) return {};
  silence.has_ended();
  const Region region = map_shared_region(fd);
  close(fd);
  if (region) monotonic_shift_ns = region.header->monotonic_shift_ns;
  return region;
}

void report_unrecorded() {
  if (!is_wrapped()) return;
  const int socket_fd = reach_recorder(std::getenv(kSocketVariable), kBriefPatience);
  if (socket_fd < 0) return;
  (void)say_hello(socket_fd, true);
  close(socket_fd);
}

}  // namespace stepscope
