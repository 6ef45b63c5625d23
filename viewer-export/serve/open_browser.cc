#include "viewer-export/serve/open_browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

extern char** environ;

namespace stepscope {
namespace {

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

Status write_private(const std::filesystem::path& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  if (written) return {};
  return Status::error(ErrorKind::kIo, file.string() + ": cannot be written");
}

// The address consists of digits, letters, ':', '.' and '/', which need no escaping in HTML.
std::string page_that_leads_to(const std::string& address) {
  return "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
         "<meta http-equiv=\"refresh\" content=\"0; url=" +
         address + "\"><title>Stepscope</title><a href=\"" + address + "\">Open the run</a>\n";
}

// Discards the browser's output, and does not pass our signal mask on to it.
int spawn_quietly(const std::string& program, const std::string& argument) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C ends us, not the browser
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const char* const words[] = {program.c_str(), argument.c_str(), nullptr};
  pid_t pid = 0;
  const int code = posix_spawnp(&pid, program.c_str(), &files, &attributes,
                                const_cast<char* const*>(words), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return code;
}

}  // namespace

Status open_in_browser(const std::string& address, const std::filesystem::path& folder) {
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("BROWSER")) {
    return Status::error(ErrorKind::kUnavailable, "there is no display");
  }
  const std::filesystem::path file = folder / "open.html";
  if (Status status = write_private(file, page_that_leads_to(address)); !status.ok()) return status;
  std::signal(SIGCHLD, SIG_IGN);  // nobody waits for xdg-open
  if (spawn_quietly("xdg-open", file.string()) == 0) return {};
  return Status::error(ErrorKind::kUnavailable, "there is no xdg-open");
}

}  // namespace stepscope
