#include "profiler/doctor/doctor.h"

#include <algorithm>

#include "profiler/doctor/build_tools.h"
#include "profiler/doctor/gpu_checks.h"
#include "profiler/doctor/machine_checks.h"
#include "profiler/doctor/try_hooks.h"
#include "profiler/doctor/try_preload.h"
#include "profiler/launch/preload_folder.h"
#include "profiler/launch/program_file.h"
#include "store/shell_word.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

const char* origin_words(HookOrigin origin) {
  switch (origin) {
    case HookOrigin::kNamed:
      return "STEPSCOPE_HOOKS";
    case HookOrigin::kInstalled:
      return "installed";
    case HookOrigin::kCache:
      break;
  }
  return "built here";
}

// --- libtorch and its hooks --------------------------------------------------------------------

Finding no_torch(const TorchQuery& query) {
  Finding finding{"libtorch", FindingState::kMissing, "libtorch", {}, {}};
  if (!query.folder.empty()) {
    finding.detail =
        query.folder + ": has no lib/libtorch_cpu.so; name the root folder of a libtorch";
    return finding;
  }
  const bool has_python = inspect_program("python").ok();
  const std::string python = !query.python.empty() ? query.python
                             : has_python          ? "python"
                                                   : "python3";
  if (const auto program = inspect_program(python); !program.ok()) {
    finding.detail = program.status().message();
  } else {
    finding.detail = python + " cannot import torch";
    finding.fix = shell_word(python) + " -m pip install torch";
  }
  if (query.python.empty())
    finding.detail += "; there is no libtorch in CMAKE_PREFIX_PATH, /usr/local or /usr either";
  return finding;
}

Finding torch_finding(const TorchInstall& torch) {
  const std::string version = torch.version.empty() ? "?" : torch.version;
  return {"libtorch",
          FindingState::kOk,
          "libtorch " + version,
          torch.root.string() + " (" + torch.origin + (torch.is_used ? ")" : ", not in use)"),
          {}};
}

Finding hook_finding(const TorchInstall& torch, const HookCheck& check) {
  Finding finding{"op-hooks", FindingState::kOk, "  its op hooks", {}, {}};
  if (check.place) {
    finding.detail = check.place->library.string() + " (" + origin_words(check.place->origin) + ")";
    if (!check.why.empty()) finding.detail += "; " + check.why;
    return finding;
  }
  // Programs get another libtorch unless they ask for this one.
  finding.state = torch.is_used ? FindingState::kMissing : FindingState::kNote;
  finding.detail = check.why;
  finding.fix = check.fix;
  if (!torch.has_headers) {
    finding.detail += ", and no headers to build them with";
    finding.fix = torch.root == "/usr" ? "sudo apt-get install libtorch-dev" : "";
  }
  return finding;
}

Coverage ops_of(const HookCheck& check) {
  const CoverageState state = !check.place         ? CoverageState::kNo
                              : !check.why.empty() ? CoverageState::kUnknown
                                                   : CoverageState::kYes;
  return {"ops", state, check.why.empty() ? "" : "op hooks: " + check.why};
}

// --- what is installed -------------------------------------------------------------------------

Finding installed_file(const char* id, const char* what, const fs::path& file,
                       FindingState without) {
  if (is_there(file)) return {id, FindingState::kOk, what, file.string(), {}};
  return {id, without, what, file.string() + " is missing; reinstall Stepscope", {}};
}

Finding check_preload_library(const Installation& installed) {
  Finding finding = installed_file("preload-library", "preload library", installed.libstepscope(),
                                   FindingState::kMissing);
  if (finding.state != FindingState::kOk) return finding;
  const PreloadTrialResult trial = try_preload(installed);
  switch (trial.outcome) {
    case PreloadTrial::kWorks:
      if (!trial.why.empty()) finding.detail += "; loaded " + trial.why;
      break;
    case PreloadTrial::kFails:
      finding.state = FindingState::kMissing;
      finding.detail += ": does not load into a program: " + trial.why;
      break;
    case PreloadTrial::kNotTried:
      finding.state = FindingState::kNote;
      finding.detail += "; not tried: " + trial.why;
      break;
  }
  return finding;
}

Findings check_installation(const Installation& installed) {
  const fs::path companions = installed.libraries / "stepscope";
  return {check_preload_library(installed),
          installed_file("recorder-library", "recorder library",
                         companions / "libstepscope_recorder.so", FindingState::kNote),
          installed_file("python-marks", "marks for Python",
                         companions / "python/inject/sitecustomize.py", FindingState::kNote)};
}

Finding check_tools(const Installation& installed) {
  const BuildTools tools = find_build_tools();
  Finding finding{"build-tools", FindingState::kOk, "to build hooks", in_words(tools.found), {}};
  if (!is_there(installed.hook_project() / "CMakeLists.txt")) {
    finding.state = FindingState::kNote;
    finding.detail = installed.sources.string() + " is missing; reinstall Stepscope";
  } else if (!tools.complete()) {
    finding.state = FindingState::kNote;
    finding.detail = "missing: " + in_words(tools.missing);
    finding.fix = install_tools_command();
  }
  return finding;
}

// The path by which a wrapped program finds the library.
fs::path as_loaded(const HookPlace& place, const Installation& installed,
                   const Installation& named) {
  if (place.origin != HookOrigin::kInstalled) return place.library;
  return named.libraries / place.library.lexically_relative(installed.libraries);
}

void append(Findings& all, const Findings& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

HookCheck check_hooks(const TorchInstall& torch, const Installation& installed) {
  const auto places = hook_places(installed.libraries, torch.version);
  const auto folder = PreloadFolder::open(installed.libraries);
  const Installation named{folder.ok() ? folder->path() : installed.libraries, installed.sources};
  HookCheck check{std::nullopt, no_hooks_text(places, torch.version),
                  no_hooks_command(places, torch.root)};
  for (const HookPlace& place : places) {
    if (!is_there(place.library)) continue;
    if (!is_trusted(place)) {
      check.why = place.library.string() + ": it belongs to another user";
      continue;
    }
    const HookTrialResult trial =
        try_hooks(as_loaded(place, installed, named), named.libstepscope(), torch);
    if (trial.outcome == HookTrial::kWork) return {place, {}, {}};
    if (trial.outcome == HookTrial::kTorchDoesNotLoad) {
      return {place, "not tried, because libtorch does not load by itself: " + trial.why, {}};
    }
    check.why = place.library.string() + ": " + trial.why;
  }
  return check;
}

Diagnosis diagnose(const TorchQuery& query, const Installation& installed) {
  const auto torches = find_torch(query);
  Diagnosis diagnosis;
  Findings& findings = diagnosis.findings;
  if (torches.empty()) findings.push_back(no_torch(query));
  for (const TorchInstall& torch : torches) {
    findings.push_back(torch_finding(torch));
    const HookCheck check = check_hooks(torch, installed);
    findings.push_back(hook_finding(torch, check));
    diagnosis.torches.push_back(torch_coverage(torch, ops_of(check)));
  }
  append(findings, check_installation(installed));
  findings.push_back(check_tools(installed));
  append(findings, check_machine());
  append(findings, check_gpu("/", torches));
  return diagnosis;
}

bool records_ops(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == FindingState::kMissing;
  });
}

}  // namespace stepscope
