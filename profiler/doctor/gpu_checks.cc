#include "profiler/doctor/gpu_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "profiler/doctor/build_tools.h"
#include "profiler/doctor/try_cupti.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// The first driver that comes with CUDA 13.
constexpr const char* kFirstDriverOfCuda13 = "580";

std::string line_with(const fs::path& file, std::string_view words) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(words) != std::string::npos) return line;
  }
  return {};
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build ..."
std::string driver_version(const fs::path& root) {
  return version_in_text(line_with(root / "proc/driver/nvidia/version", "NVRM version"));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// /dev/nvidia0 and so on. Any number counts: a container may have only the second GPU.
bool is_gpu(const fs::path& device) {
  const std::string name = device.filename();
  constexpr std::string_view start = "nvidia";
  return name.starts_with(start) && name.size() > start.size() &&
         name.find_first_not_of("0123456789", start.size()) == std::string::npos;
}

Finding check_driver(const fs::path& root, const std::string& version) {
  Finding finding{"nvidia-driver", FindingState::kNote, "NVIDIA driver", {}, {}};
  if (version.empty()) {
    finding.detail = "none; training runs on the CPU";
    return finding;
  }
  const auto devices = entries_of(root / "dev");
  const auto gpus = std::count_if(devices.begin(), devices.end(), is_gpu);
  const bool may_open = std::any_of(devices.begin(), devices.end(), [](const fs::path& device) {
    return is_gpu(device) && access(device.c_str(), R_OK | W_OK) == 0;
  });
  finding.detail = version + ", " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
  if (gpus == 0) {
    finding.detail = version + ", but no /dev/nvidia0; if this is a container, start it with GPUs";
    finding.fix = "sudo nvidia-modprobe -u -c 0";
  } else if (!may_open) {
    finding.detail += ", which you have no permission to open";
  } else {
    finding.state = FindingState::kOk;
  }
  return finding;
}

// https://developer.nvidia.com/ERR_NVGPUCTRPERM
Findings check_counters(const fs::path& root) {
  const std::string line = line_with(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly:");
  if (line.empty()) return {};
  if (line.find(" 1") == std::string::npos || geteuid() == 0) {
    return {{"gpu-counters", FindingState::kOk, "GPU counters", "you may read them", {}}};
  }
  return {{"gpu-counters", FindingState::kNote, "GPU counters",
           "only administrators may read them (RmProfilingAdminOnly: 1); restart the machine after "
           "the fix",
           "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
           "/etc/modprobe.d/nvidia-profiling.conf"}};
}

// The folders in which the CUDA toolkit and PyTorch's packages keep libcupti.
std::vector<fs::path> cupti_folders(const fs::path& root,
                                    const std::vector<TorchInstall>& torches) {
  std::vector<fs::path> folders;
  for (const TorchInstall& torch : torches) {
    folders.push_back(torch.root / "lib");
    // From the packages nvidia-cuda-cupti-cu12 and nvidia-cuda-cupti (since CUDA 13).
    for (const fs::path& package : entries_of(torch.root.parent_path() / "nvidia")) {
      folders.push_back(package / "lib");
    }
  }
  std::vector<fs::path> toolkits;
  if (const char* home = std::getenv("CUDA_HOME")) toolkits.emplace_back(home);
  for (const fs::path& entry : entries_of(root / "usr/local")) {
    if (entry.filename().string().starts_with("cuda")) toolkits.push_back(entry);
  }
  for (const fs::path& toolkit : toolkits) {
    folders.push_back(toolkit / "extras/CUPTI/lib64");
    folders.push_back(toolkit / "targets/x86_64-linux/lib");
  }
  folders.push_back(root / "usr/lib/x86_64-linux-gnu");
  return folders;
}

// A file and the links to it count once: libcupti.so.12 and libcupti.so.2024.1.0.
std::vector<fs::path> find_cupti(const std::vector<fs::path>& folders) {
  std::vector<fs::path> found;
  std::set<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const fs::path& entry : entries_of(folder)) {
      std::error_code error;
      const std::string name = entry.filename();
      if (!name.starts_with("libcupti") || name.find(".so") == std::string::npos) continue;
      if (files.insert(fs::weakly_canonical(entry, error)).second) found.push_back(entry);
    }
  }
  return found;
}

Finding check_cupti(const fs::path& root, const std::vector<TorchInstall>& torches,
                    const std::string& driver) {
  Finding finding{"cupti", FindingState::kNote, "CUPTI", {}, {}};
  const auto found = find_cupti(cupti_folders(root, torches));
  const bool cuda13 = version_is_at_least(driver, kFirstDriverOfCuda13);
  const std::string install =
      std::string("python3 -m pip install nvidia-cuda-cupti") + (cuda13 ? "" : "-cu12");
  if (found.empty()) {
    finding.detail = driver.empty() ? "none; not needed without a GPU"
                                    : "none found beside libtorch or in a CUDA toolkit";
    if (!driver.empty()) finding.fix = install;
    return finding;
  }
  // A recording would use the first one.
  const CuptiTrial trial = try_cupti(found.front(), !driver.empty());
  finding.state = trial.why.empty() ? FindingState::kOk : FindingState::kNote;
  finding.detail = found.front().string();
  if (!trial.version.empty()) finding.detail += " (" + trial.version + ")";
  if (!trial.why.empty()) {
    finding.detail += " " + trial.why;
    finding.fix = install;
  }
  for (auto other = found.begin() + 1; other != found.end(); ++other)
    finding.detail += ", " + other->string();
  return finding;
}

}  // namespace

Findings check_gpu(const fs::path& root, const std::vector<TorchInstall>& torches) {
  const std::string driver = driver_version(root);
  Findings findings{check_driver(root, driver)};
  for (const Finding& finding : check_counters(root)) findings.push_back(finding);
  findings.push_back(check_cupti(root, torches, driver));
  return findings;
}

}  // namespace stepscope
