#include "profiler/channel/listener.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "profiler/channel/clock_shift.h"
#include "profiler/channel/socket_address.h"
#include "profiler/channel/socket_patience.h"
#include "profiler/cupti/device_area.h"
#include "profiler/process/process_tree.h"
#include "profiler/ring/clock.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

Status failed(const std::string& what) {
  return Status::error(ErrorKind::kIo, what + ": " + std::strerror(errno));
}

// That are sent away for one accept(): a stranger can connect ten thousand times a second.
constexpr int kMaxStrangers = 16;

OwnedFd open_spare() { return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

OwnedFd unlinked_file(const fs::path& folder) {
#ifdef O_TMPFILE
  OwnedFd fd(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
#endif
  std::string name = (folder / "stepscope-XXXXXX").string();
  OwnedFd named(mkostemp(name.data(), O_CLOEXEC));
  if (named) unlink(name.c_str());
  return named;
}

// Whether the file can grow to `bytes`. It is sparse except for its first pages, which are
// allocated: they are accessed at once, and on a full disk that would raise SIGBUS.
bool has_room(const OwnedFd& fd, std::uint64_t bytes) {
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return false;
  errno = posix_fallocate(fd.get(), 0, kRegionHeadBytes);
  return errno == 0;
}

// A folder that only this user can enter, so that nobody else can connect.
Result<fs::path> make_private_folder() {
  const char* wanted = std::getenv("TMPDIR");
  for (const char* parent : {wanted, "/tmp", "/dev/shm", "/var/tmp"}) {
    if (parent == nullptr || *parent == '\0') continue;
    std::string name = std::string(parent) + "/stepscope-XXXXXX";
    if (name.size() + sizeof("/socket") > sizeof(sockaddr_un::sun_path)) continue;
    if (mkdtemp(name.data()) != nullptr) return fs::path(name);
  }
  return failed("cannot make a folder for a socket in TMPDIR, /tmp, /dev/shm or /var/tmp");
}

// Empty if that fails.
OwnedFd listen_at(const std::string& path, SocketPlace place) {
  const SocketAddress address = socket_address(path, place);
  OwnedFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  constexpr int kBacklog = 1024;  // all processes of a job may start at once
  const bool listens = socket && bind(socket.get(), address.get(), address.size) == 0 &&
                       listen(socket.get(), kBacklog) == 0;
  return listens ? std::move(socket) : OwnedFd();
}

// Whether a process is this one or was started by it, directly or not.
bool descends_from_us(pid_t process) {
  constexpr int kMaxLevels = 256;
  std::int64_t pid = process;
  for (int level = 0; level < kMaxLevels && pid > 1; ++level) {
    if (pid == getpid()) return true;
    pid = parent_of(pid);
  }
  return false;
}

bool send_welcome(int connection, const Welcome& welcome, int region_fd) {
  iovec data{const_cast<Welcome*>(&welcome), sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (region_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &region_fd, sizeof(region_fd));
  }
  return sendmsg(connection, &message, MSG_NOSIGNAL) == sizeof(welcome);
}

void refuse(int connection, const std::string& reason) {
  Welcome welcome{};
  welcome.magic = kChannelMagic;
  std::strncpy(welcome.reason, reason.c_str(), sizeof(welcome.reason) - 1);
  (void)send_welcome(connection, welcome, -1);
}

// The first message on a new connection: a Hello, a request, or nonsense.
union Greeting {
  std::uint32_t magic;
  Hello hello;
  ControlRequest request;
};

struct Received {
  ssize_t size = 0;
  OwnedFd fds[kHelloFds];  // all or none
};

// Closes the descriptors unless they are exactly as many as a Hello carries.
Received receive_greeting(int connection, Greeting& greeting) {
  Received received;
  iovec data{&greeting, sizeof(greeting)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kHelloFds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  received.size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* rights = received.size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (rights == nullptr || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
    return received;
  const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count && i < kHelloFds; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof(fd), sizeof(fd));
    received.fds[i] = OwnedFd(fd);
  }
  return received;
}

// Whether `fd` really is a file of /proc: a read from anything else might never return.
bool is_proc_file(const OwnedFd& fd) {
  struct statfs system{};
  return fd && fstatfs(fd.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

std::string wrong_clock_notice(pid_t pid) {
  return "process " + std::to_string(pid) +
         " has its own clock (libfaketime?), and this processor has no invariant time stamp "
         "counter: the times of its events are unreliable";
}

void answer(int connection, const std::string& text) {
  ControlReply reply{};
  reply.magic = kControlMagic;
  reply.version = kChannelVersion;
  std::strncpy(reply.text, text.c_str(), sizeof(reply.text) - 1);
  (void)send(connection, &reply, sizeof(reply), MSG_NOSIGNAL);
}

}  // namespace

Result<OwnedFd> make_shared_memory(std::uint64_t bytes, const fs::path& folder) {
  if (OwnedFd fd(memfd_create("stepscope", MFD_CLOEXEC)); has_room(fd, bytes)) return fd;
  if (OwnedFd fd = unlinked_file("/dev/shm"); has_room(fd, bytes)) return fd;
  if (OwnedFd fd = unlinked_file(folder); has_room(fd, bytes)) return fd;
  return failed("cannot get " + std::to_string(bytes >> 20) +
                " MiB of sparse shared memory from memfd_create(), /dev/shm or " + folder.string());
}

Result<std::unique_ptr<Listener>> Listener::open() {
  const auto folder = make_private_folder();
  if (!folder.ok()) return folder.status();
  const std::string path = *folder / "socket";
  OwnedFd socket = listen_at(path, SocketPlace::kFile);
  if (!socket) {
    const Status status = failed(path);
    std::error_code ignored;
    fs::remove_all(*folder, ignored);
    return status;
  }
  OwnedFd abstract = listen_at(path, SocketPlace::kAbstract);  // most programs do without it
  return std::unique_ptr<Listener>(
      new Listener(*folder, path, std::move(socket), std::move(abstract)));
}

Listener::Listener(fs::path folder, std::string path, OwnedFd socket, OwnedFd abstract)
    : folder_(std::move(folder)),
      path_(std::move(path)),
      sockets_{std::move(socket), std::move(abstract)},
      spare_(open_spare()) {}

Listener::~Listener() {
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

Listener::Connection Listener::accept_at(SocketPlace place) {
  const int socket = sockets_[static_cast<std::size_t>(place)].get();
  Connection connection;
  connection.fd = OwnedFd(accept4(socket, nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.fd && (errno == EMFILE || errno == ENFILE)) {
    spare_ = OwnedFd();
    connection.fd = OwnedFd(accept4(socket, nullptr, nullptr, SOCK_CLOEXEC));
  }
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(connection.fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
    connection.pid = peer.pid;
  }
  return connection;
}

// Whoever could enter the folder is of our user. The abstract name is open to all, so a process
// that came by it must be of the program; others are sent away before they are read, and nobody is
// told of them.
Listener::Connection Listener::next_connection() {
  Connection connection = accept_at(SocketPlace::kFile);
  for (int i = 0; !connection.fd && i < kMaxStrangers; ++i) {
    connection = accept_at(SocketPlace::kAbstract);
    if (!connection.fd) break;
    if (!descends_from_us(connection.pid)) connection = {};
  }
  return connection;
}

Result<std::optional<Listener::Arrival>> Listener::accept(const RegionLayout& layout,
                                                          const RecordPlan& plan,
                                                          std::uint64_t patience_ticks) try {
  if (!spare_) spare_ = open_spare();
  const Connection from = next_connection();
  const OwnedFd& connection = from.fd;
  if (!connection || from.pid == 0) return std::optional<Arrival>{};
  const std::string process = "process " + std::to_string(from.pid);
  const auto refused = [&](const std::string& why) {
    refuse(connection.get(), why);
    return Status::error(ErrorKind::kIo, process + " is not recorded: " + why);
  };
  // Do not wait for a client that connects and sends nothing.
  set_patience(connection.get(), std::chrono::seconds(1));
  Greeting greeting{};
  Received received = receive_greeting(connection.get(), greeting);
  const ssize_t said = received.size;
  if (said == sizeof(ControlRequest) && greeting.magic == kControlMagic && control_) {
    answer(connection.get(), control_(greeting.request.command));
    return std::optional<Arrival>{};
  }
  if (said != sizeof(Hello) || greeting.magic != kChannelMagic) return std::optional<Arrival>{};
  Arrival arrival;
  arrival.pid = from.pid;
  arrival.hello = greeting.hello;
  if (is_proc_file(received.fds[kMemoryFd]) && is_proc_file(received.fds[kMapsFd])) {
    arrival.memory = std::move(received.fds[kMemoryFd]);
    arrival.maps = std::move(received.fds[kMapsFd]);
  }
  if (arrival.hello.version != kChannelVersion) return refused("it has another Stepscope");
  if (arrival.hello.is_ending != 0) {
    return refused(
        "it used libtorch only in ways that Stepscope does not see; see docs/wrapping.md");
  }
  auto memory = make_shared_memory(layout.bytes(), folder_);
  if (!memory.ok()) return refused(memory.status().message());
  void* mapped = mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      memory->get(), 0);
  if (mapped == MAP_FAILED) return refused(failed("its memory cannot be mapped").message());
  arrival.region = format_region(mapped, layout, plan);
  // Set before the program has the region: without a heartbeat it would take the recorder for dead
  // and record no ops.
  arrival.region.header->heartbeat = 1;
  arrival.region.header->patience_ticks = patience_ticks;
  const ClockShift shift = clock_shift(read_clock_ns(CLOCK_MONOTONIC), arrival.hello.monotonic_ns,
                                       namespace_shift_ns(from.pid));
  arrival.region.header->monotonic_shift_ns = shift.ns;
  if (!shift.exact && !kTicksAreCounter) arrival.notice = wrong_clock_notice(from.pid);
  Welcome welcome{};
  welcome.magic = kChannelMagic;
  welcome.accepted = 1;
  if (!send_welcome(connection.get(), welcome, memory->get())) {
    unmap_region(arrival.region);
    return Status::error(ErrorKind::kIo,
                         process + " is not recorded: it did not wait for the recorder's answer");
  }
  return std::optional<Arrival>(std::move(arrival));
} catch (const std::bad_alloc&) {
  return Status::error(ErrorKind::kIo, "a process is not recorded: out of memory");
}

Result<std::string> ask_recorder(const std::string& path, ControlCommand command,
                                 std::chrono::seconds patience) {
  const SocketAddress address = socket_address(path, SocketPlace::kFile);
  const OwnedFd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // The store names the socket, so whoever made the store chose it; its listener may never answer.
  set_patience(connection.get(), patience);
  errno = 0;
  if (address.size == 0 || connect(connection.get(), address.get(), address.size) != 0) {
    if (errno != EACCES) return Status::error(ErrorKind::kNotFound, "no recorder is running");
    return Status::error(ErrorKind::kUnavailable,
                         "its recorder is of another user; ask as that user, or as root");
  }
  const ControlRequest request{kControlMagic, kChannelVersion, command};
  ControlReply reply{};
  if (send(connection.get(), &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
      recv(connection.get(), &reply, sizeof(reply), 0) != sizeof(reply) ||
      reply.magic != kControlMagic) {
    if (errno != EAGAIN) return failed("the recorder did not answer");
    return Status::error(ErrorKind::kIo, "the recorder did not answer within " +
                                             std::to_string(patience.count()) + " s");
  }
  reply.text[sizeof(reply.text) - 1] = '\0';
  return std::string(reply.text);
}

}  // namespace stepscope
