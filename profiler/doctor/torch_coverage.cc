#include "profiler/doctor/torch_coverage.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "profiler/doctor/build_tools.h"
#include "profiler/doctor/in_child.h"
#include "profiler/doctor/python_package.h"

namespace stepscope {
namespace {

// The symbols that the phases of C++ programs and the backward passes of Python programs rely on
// (preload/phase_symbols.cc).
constexpr const char* kPhaseSymbols[] = {
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE"
    "bbbS7_",
    "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE",
};

// --- phases --------------------------------------------------------------------------------------

// "" if the symbols exist; "?" and a reason if that is unknown; else the reason why they do not.
std::string missing_phase_symbols(const TorchInstall& torch) {
  void* const library = dlopen(torch.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    return "?libtorch does not load by itself: " + std::string(error != nullptr ? error : "");
  }
  for (const char* symbol : kPhaseSymbols) {
    if (dlsym(library, symbol) == nullptr) return "this libtorch exports no " + std::string(symbol);
  }
  return "";
}

Coverage phases_of(const TorchInstall& torch) {
  const ChildAnswer answer = ask_child([&] { return missing_phase_symbols(torch); });
  if (!answer.answered) return {"phases", CoverageState::kUnknown, answer.text};
  if (answer.text.empty()) return {"phases", CoverageState::kYes, ""};
  if (answer.text.front() != '?') return {"phases", CoverageState::kNo, answer.text};
  return {"phases", CoverageState::kUnknown, answer.text.substr(1)};
}

// --- lines ---------------------------------------------------------------------------------------

// The version of the Python that imports it, or whose site-packages contain it: "3.11"; "?" if that
// is unknown. Empty if there is no such Python.
std::string python_of(const TorchInstall& torch) {
  if (!torch.python.empty()) {
    const std::string version = python_version(torch.python);
    return version.empty() ? "?" : version;
  }
  for (const auto& part : torch.root) {
    constexpr std::string_view start = "python";
    const std::string name = part.string();
    if (name.starts_with(start) && name.find('.') != std::string::npos) {
      return name.substr(start.size());
    }
  }
  return "";
}

bool has_libdw() { return dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

bool is_readable_python(const std::string& version) {
  const bool is_plain = version.find_first_not_of("0123456789.") == std::string::npos;
  return is_plain && version_is_at_least(version, "3.10") && !version_is_at_least(version, "3.16");
}

// Lines of Python are found by reading the interpreter, lines of C++ through libdw.
Coverage lines_of(const std::string& python) {
  const bool cpp = has_libdw();
  const std::string no_cpp = "not in C++: libdw.so.1 is missing (Debian: libdw1)";
  if (python.empty()) {
    return {"lines", cpp ? CoverageState::kYes : CoverageState::kNo,
            cpp ? "only of code compiled with -g" : no_cpp};
  }
  if (python == "?") return {"lines", CoverageState::kUnknown, "the version of Python is unknown"};
  if (!is_readable_python(python)) {
    return {"lines", CoverageState::kNo, "need CPython 3.10 to 3.15 with the GIL, not " + python};
  }
  return {"lines", CoverageState::kYes, cpp ? "" : no_cpp};
}

// --- modules -------------------------------------------------------------------------------------

Coverage modules_of(const TorchInstall& torch, const std::string& python, const Coverage& ops) {
  if (python.empty()) return {"modules", CoverageState::kNo, "only of Python programs"};
  if (!version_is_at_least(torch.version, "2.0")) {
    return {"modules", CoverageState::kNo, "need torch 2.0 or newer, which has the hooks"};
  }
  if (ops.state != CoverageState::kYes) return {"modules", ops.state, "are recorded only with ops"};
  return {"modules", CoverageState::kYes, "with stepscope run --modules"};
}

}  // namespace

TorchCoverage torch_coverage(const TorchInstall& torch, const Coverage& ops) {
  const std::string python = python_of(torch);
  return {torch, {ops, phases_of(torch), lines_of(python), modules_of(torch, python, ops)}};
}

}  // namespace stepscope
