#include "profiler/doctor/machine_checks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "profiler/channel/listener.h"
#include "profiler/ring/region.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

Finding check_socket(const Result<std::unique_ptr<Listener>>& listener) {
  if (!listener.ok()) {
    return {"socket", FindingState::kMissing, "socket", listener.status().message(),
            "TMPDIR=\"$HOME\" stepscope run …"};
  }
  const fs::path folder = fs::path((*listener)->path()).parent_path().parent_path();
  return {"socket", FindingState::kOk, "socket", "in " + folder.string(), {}};
}

Finding check_shared_memory(const fs::path& folder) {
  constexpr std::uint64_t kOnePage = 4096;
  if (const auto memory = make_shared_memory(kOnePage, folder); !memory.ok()) {
    return {
        "shared-memory", FindingState::kMissing, "shared memory", memory.status().message(), {}};
  }
  const OwnedFd anonymous(memfd_create("stepscope", MFD_CLOEXEC));
  if (anonymous) return {"shared-memory", FindingState::kOk, "shared memory", "memfd_create", {}};
  return {"shared-memory",
          FindingState::kNote,
          "shared memory",
          "memfd_create is not allowed here; a deleted file is used instead",
          {}};
}

Finding check_pidfd() {
#ifdef SYS_pidfd_open
  const OwnedFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
#else
  const OwnedFd pidfd;
#endif
  if (pidfd) return {"pidfd", FindingState::kOk, "watching processes", "pidfd_open", {}};
  return {"pidfd",
          FindingState::kNote,
          "watching processes",
          "no pidfd_open (needs Linux 5.3); polling finds the end of processes instead",
          {}};
}

// If the kernel was started with psi=0, the files exist but cannot be read.
Finding check_pressure() {
  const OwnedFd file(open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC));
  char first = 0;
  if (file && read(file.get(), &first, 1) == 1) {
    return {"pressure", FindingState::kOk, "pressure counters", "/proc/pressure", {}};
  }
  return {
      "pressure",
      FindingState::kNote,
      "pressure counters",
      "the kernel keeps none, so memory pressure is judged by page faults alone; to get them, add "
      "psi=1 to the kernel's command line",
      {}};
}

// The rings reserve addresses: an eighth of what the limit leaves (profiler/ring/region.cc).
Finding check_addresses() {
  rlimit limit{};
  const bool unlimited = getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
  if (unlimited) {
    return {"address-limit", FindingState::kOk, "address limit", "none (ulimit -v)", {}};
  }
  const Region region = map_private_region(lay_out_region(0), {});
  const std::uint32_t rings = region ? region.layout.ring_capacity : 0;
  unmap_region(region);
  const std::string mib = std::to_string(limit.rlim_cur >> 20) + " MiB (ulimit -v)";
  if (rings == 0) {
    return {"address-limit", FindingState::kMissing, "address limit",
            mib + " leaves no room for the rings", "ulimit -v unlimited"};
  }
  return {"address-limit", FindingState::kNote, "address limit",
          mib + ": rings for " + std::to_string(rings) + " threads at a time",
          "ulimit -v unlimited"};
}

}  // namespace

Findings check_machine() {
  const auto listener = Listener::open();
  const fs::path folder =
      listener.ok() ? fs::path((*listener)->path()).parent_path() : fs::path("/tmp");
  return {check_socket(listener), check_shared_memory(folder), check_pidfd(), check_pressure(),
          check_addresses()};
}

}  // namespace stepscope
