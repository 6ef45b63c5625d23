// The handshake between a program and the recorder, over a Unix socket (SOCK_SEQPACKET). The
// program sends a Hello and, if possible, read-only descriptors of its own memory and its memory
// map (kMemoryFd, kMapsFd). The recorder answers with a Welcome and, as SCM_RIGHTS, the descriptor
// of the region that the program will write to. Then both close the connection: everything else
// passes through the region, and the program keeps no descriptor of ours.
#pragma once

#include <cstdint>

namespace stepscope {

// The variable that names the socket; set by the wrapper, inherited by children. Empty: not
// wrapped.
inline constexpr const char* kSocketVariable = "STEPSCOPE_SOCKET";

inline constexpr std::uint32_t kChannelMagic = 0x48435353;  // "SSCH"
inline constexpr std::uint32_t kChannelVersion = 4;

// How long a recorder may be silent before a program considers it gone. Long, because writing to a
// slow disk can take more than a second; not longer, because a starting program blocks for up to
// this time.
inline constexpr std::int64_t kRecorderPatienceSeconds = 10;

// The order of the descriptors that come with a Hello: /proc/self/mem, /proc/self/maps. Either both
// come or neither. The permission to read them is checked when the program opens them, so the
// recorder needs none.
inline constexpr int kMemoryFd = 0;
inline constexpr int kMapsFd = 1;
inline constexpr int kHelloFds = 2;

struct Hello {
  std::uint32_t magic;
  std::uint32_t version;
  char stepscope_version[32];
  std::int64_t parent_pid;
  std::int64_t rank;          // RANK in the environment; -1: none
  std::int64_t monotonic_ns;  // the program's CLOCK_MONOTONIC when sending
  // 1: it ends, has libtorch and was not recorded. It is counted, and awaits no Welcome.
  std::int64_t is_ending;
};

struct Welcome {
  std::uint32_t magic;
  std::uint32_t accepted;  // 0: no descriptor follows, `reason` says why
  char reason[248];
};

// The same socket also takes commands to the recorder (`stepscope control`).
inline constexpr std::uint32_t kControlMagic = 0x54435353;  // "SSCT"

enum class ControlCommand : std::uint32_t { kStatus, kStartOps, kStopOps, kFollowPlan };

struct ControlRequest {
  std::uint32_t magic;
  std::uint32_t version;
  ControlCommand command;
};

struct ControlReply {
  std::uint32_t magic;
  std::uint32_t version;
  char text[248];  // one line of text
};

// The key in the store's meta that holds the socket path of a running recording.
inline constexpr const char* kSocketMeta = "control_socket";

}  // namespace stepscope
