// stepscope doctor: checks what recording needs, and says how to get what is missing.
#include "profiler/doctor/doctor.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/verb.h"
#include "present/doctor_report.h"
#include "present/terminal_text.h"
#include "profiler/doctor/build_hooks.h"
#include "profiler/doctor/installation.h"
#include "terminal/progress_line.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "doctor";
// Scripts rely on this exit code (cli/verb.h). The gate is that ops would be recorded.
constexpr int kNotReady = kGateFailed;

struct DoctorArguments {
  TorchQuery query;
  bool json = false;
  bool build_hooks = false;
  bool force = false;
};

// On a terminal, shows that a build is running, and for how long.
Result<std::filesystem::path> build_visibly(const TorchInstall& torch,
                                            const Installation& installed) {
  using std::chrono::steady_clock;
  ProgressLine line(std::chrono::milliseconds(0));
  return build_hooks(torch, installed, [&, begin = steady_clock::now()] {
    line.update([&] {
      const auto passed = steady_clock::now() - begin;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(passed).count();
      return "building op hooks for libtorch " + torch.version + ", " + std::to_string(seconds) +
             " s";
    });
  });
}

int build_for(const TorchInstall& torch, const Installation& installed, bool force) {
  if (const HookCheck there = check_hooks(torch, installed); there.place && !force) {
    print_line(stdout, "libtorch " + torch.version +
                           ": op hooks already exist: " + there.place->library.string());
    return kOk;
  }
  const auto built = build_visibly(torch, installed);
  if (!built.ok()) {
    (void)report_error(kVerb, built.status());
    return kNotReady;
  }
  print_line(stdout, "libtorch " + torch.version + ": built the op hooks: " + built->string());
  return kOk;
}

int build_all(const DoctorArguments& arguments, const Installation& installed) {
  const auto torches = find_torch(arguments.query);
  if (torches.empty()) {
    (void)report_error(kVerb,
                       Status::error(ErrorKind::kNotFound,
                                     "found no libtorch to build op hooks for; name one with "
                                     "--torch FOLDER or --python PYTHON"));
    return kNotReady;
  }
  int exit_code = kOk;
  for (const TorchInstall& torch : torches) {
    if (build_for(torch, installed, arguments.force) != kOk) exit_code = kNotReady;
  }
  return exit_code;
}

int run_doctor(const DoctorArguments& arguments) {
  const Installation installed = find_installation();
  if (arguments.build_hooks) return build_all(arguments, installed);
  const Diagnosis found = diagnose(arguments.query, installed);
  const Status printed = arguments.json
                             ? write_json(doctor_json(found))
                             : write_page(doctor_text(found, Palette{stdout_wants_color()}));
  if (!printed.ok()) return report_error(kVerb, printed);
  return records_ops(found.findings) ? kOk : kNotReady;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* verb =
      app.add_subcommand(kVerb, "Check what recording needs, and say how to get what is missing");
  auto* torch = verb->add_option("--torch", arguments->query.folder,
                                 "check only this libtorch: the folder with include/ATen and lib/");
  auto* python = verb->add_option("--python", arguments->query.python,
                                  "check only the torch that this Python imports");
  torch->excludes(python);
  auto* json = verb->add_flag("--json", arguments->json, "print one JSON document");
  auto* build = verb->add_flag("--build-hooks", arguments->build_hooks,
                               "build the op hooks for each libtorch that has none");
  json->excludes(build);
  verb->add_flag("--force", arguments->force, "rebuild hooks that exist")->needs(build);
  verb->footer(
      "Without --torch and --python, checks every libtorch that it finds: the torch of python "
      "(python3),\n"
      "those in CMAKE_PREFIX_PATH, and the system's. Op hooks must exist for the torch of python "
      "and for\n"
      "the first in CMAKE_PREFIX_PATH; for the others, missing hooks are only a note.\n"
      "Examples:\n"
      "  stepscope doctor\n"
      "  stepscope doctor --python .venv/bin/python --build-hooks\n"
      "  stepscope doctor --json | jq -r '.findings[] | select(.state == \"missing\").fix'\n"
      "Exit codes: 0 `stepscope run` would record ops, or the hooks were built; 1 otherwise; "
      "2 wrong usage.");
  verb->callback([arguments, &exit_code] { exit_code = run_doctor(*arguments); });
}

}  // namespace stepscope::cli
