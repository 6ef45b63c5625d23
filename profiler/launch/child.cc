#include "profiler/launch/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "profiler/channel/channel_format.h"
#include "profiler/process/other_child.h"

namespace stepscope {
namespace {

bool was_started_without_child_ends = false;

// What users send to a command, as far as it matters to one that starts programs of its own.
constexpr int kForCommands[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
// What a program that we only wrap does not get from us: nobody can block the first two, the next
// ones are about us (our other children, our use of the terminal), and the others are faults.
constexpr int kOurs[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU,
                         SIGILL,  SIGTRAP, SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS};

std::string joined(const std::string& before, const std::string& after) {
  return before.empty() ? after : before + ":" + after;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A blocked signal reaches a signalfd even if it is ignored, as SIGHUP is under nohup. A program
// that we only wrap may handle the signal again, so it is passed on. For a program with its own
// process group, we would end it ourselves, so an ignored signal stays ignored.
sigset_t our_signals(bool apart) {
  sigset_t set;
  if (apart) {
    sigemptyset(&set);
    for (const int signal : kForCommands) {
      if (!is_ignored(signal)) sigaddset(&set, signal);
    }
  } else {
    sigfillset(&set);
    for (const int signal : kOurs) sigdelset(&set, signal);
  }
  sigaddset(&set, SIGCHLD);
  return set;
}

// Whether the program already has the signal: it sent it (to itself, to its group or to us as its
// parent), or the kernel sent it to the whole foreground group for the terminal. A hang-up is the
// exception: SIGHUP, then SIGCONT, goes only to the leader of the session. The group gets it when
// the leader dies, but we live as long as the program. SIGPIPE and SIGXFSZ that the recorder's own
// writing raised seem to come from us, and are not for the program.
bool program_has_it(const signalfd_siginfo& info, pid_t program) {
  const auto sender = static_cast<pid_t>(info.ssi_pid);
  if (info.ssi_code <= 0 && (sender == program || sender == getpid())) return true;
  if (info.ssi_code != SI_KERNEL) return false;
  const bool hang_up = info.ssi_signo == SIGHUP || info.ssi_signo == SIGCONT;
  return !hang_up || getsid(0) != getpid();
}

void pass_on(const signalfd_siginfo& info, pid_t program) {
  const auto signal = static_cast<int>(info.ssi_signo);
  sigval value{};
  value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);
  if (info.ssi_code != SI_QUEUE || sigqueue(program, signal, value) != 0) kill(program, signal);
}

// The kernel starts no program with a longer string than this in its environment (MAX_ARG_STRLEN).
bool fits(const Environment::value_type& variable) {
  const auto longest = static_cast<std::size_t>(32 * sysconf(_SC_PAGESIZE));
  const auto& [name, value] = variable;
  return name.size() + value.size() + sizeof("=") <= longest;  // sizeof() counts the final 0, too
}

// Runs in the child before exec, so it may only do what is safe after fork().
void set_up(const ChildSetup& setup, pid_t parent, sigset_t& mask) {
  if (setup.apart) {
    sigemptyset(&mask);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // the parent died before prctl() took effect
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing > STDERR_FILENO) {
      dup2(nothing, STDIN_FILENO);
      close(nothing);
    }
  }
  if (setup.output >= 0) dup2(setup.output, STDOUT_FILENO);
  if (setup.error >= 0) dup2(setup.error, STDERR_FILENO);
  if (setup.address_limit > 0) {
    const auto bytes = static_cast<rlim_t>(setup.address_limit);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
}

[[noreturn]] void become(const std::vector<char*>& arguments, const sigset_t& mask, int report) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (was_started_without_child_ends) signal(SIGCHLD, SIG_IGN);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  (void)!write(report, &error, sizeof(error));
  _exit(127);
}

Status exec_failed(const std::string& program, int error) {
  if (error == EMFILE) {
    return Status::error(ErrorKind::kIo, program +
                                             ": not started, because Stepscope itself needs "
                                             "more files; raise the limit (ulimit -n)");
  }
  const ErrorKind kind = error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
  return Status::error(kind, program + ": cannot be started: " + std::strerror(error));
}

// As process 1 of a container, we inherit the children of processes that have ended, in place of
// the program, which would have reaped them.
void reap_adopted(pid_t program) {
  if (getpid() != 1) return;
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    // Waited for elsewhere; the others wait until then.
    if (info.si_pid == program || info.si_pid == other_child) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
    info = {};
  }
}

}  // namespace

Environment environment_for(const ProgramFile& program, const std::string& socket,
                            const std::string& library, const std::string& python_folder) {
  if (!program.foreign.empty()) return {};
  const std::string users = joined(program.sanitizer, variable("LD_PRELOAD"));
  const Environment::value_type preload{"LD_PRELOAD", joined(users, library)};
  if (!fits(preload)) return {};
  Environment environment{{kSocketVariable, socket}, {"STEPSCOPE_LIBRARY", library}, preload};
  const Environment::value_type python_path{
      "PYTHONPATH", variable("PYTHONPATH").empty() ? python_folder
                                                   : joined(python_folder, variable("PYTHONPATH"))};
  if (fits(python_path)) environment.push_back(python_path);
  // NVTX supports only one tool. If the user has named another, that one stays.
  if (variable("NVTX_INJECTION64_PATH").empty()) {
    environment.push_back({"NVTX_INJECTION64_PATH", library});
  }
  return environment;
}

Result<Child> Child::start(const std::vector<std::string>& arguments,
                           const Environment& environment, const ChildSetup& setup) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return exec_failed(arguments[0], errno);
  const OwnedFd read_end(report[0]);
  OwnedFd write_end(report[1]);
  const sigset_t ours = our_signals(setup.apart);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &ours, &before);  // the program gets the mask as it was
  OwnedFd signals(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return exec_failed(arguments[0], errno);
  if (pid == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    set_up(setup, parent, before);
    become(argv, before, write_end.get());
  }
  write_end = OwnedFd();
  int error = 0;
  if (read(read_end.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    if (setup.apart) sigprocmask(SIG_SETMASK, &before, nullptr);
    return exec_failed(arguments[0], error);
  }
  // From here on, for the recorder itself: writing past a size limit or to a closed pipe is an
  // error that it can report, instead of its death.
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  if (!setup.apart) return Child(pid, std::move(signals), std::nullopt);
  setpgid(pid, pid);  // the child does so too; either may come first
  return Child(pid, std::move(signals), before);
}

Child::Child(Child&& other) noexcept
    : pid_(other.pid_), signals_(std::move(other.signals_)), before_(other.before_) {}

Child::~Child() {
  if (signals_ && before_) sigprocmask(SIG_SETMASK, &*before_, nullptr);
}

void Child::pass_signals_on() const {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD || program_has_it(info, pid_)) continue;
    pass_on(info, pid_);
  }
}

int Child::take_signal() const {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

void Child::end_group(int signal) const { kill(-pid_, signal); }

std::optional<ChildEnd> Child::ended() const {
  constexpr int kUnknown = W_EXITCODE(255, 0);
  reap_adopted(pid_);
  ChildEnd end;
  const pid_t ended = wait4(pid_, &end.wait_status, WNOHANG, &end.usage);
  if (ended < 0 && errno == ECHILD) return ChildEnd{kUnknown, {}};
  if (ended != pid_) return std::nullopt;
  return end;
}

void await_children() {
  if (!is_ignored(SIGCHLD)) return;
  was_started_without_child_ends = true;
  signal(SIGCHLD, SIG_DFL);
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace stepscope
