#include "terminal/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "terminal/terminal_out.h"

namespace stepscope {
namespace {

// xterm's private modes 1049 (alternate screen) and 25 (cursor).
constexpr std::string_view kEnter = "\033[?1049h\033[?25l";
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

// Ignores errors: a terminal that is gone cannot show them.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

LiveScreen::LiveScreen() {
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  enter();
}

LiveScreen::~LiveScreen() {
  leave();
  if (signals_ >= 0) ::close(signals_);
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

void LiveScreen::enter() {
  if (has_keys_) {
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  write_all(kEnter);
  measure();
}

void LiveScreen::leave() {
  write_all(kLeave);
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void LiveScreen::measure() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return;
  width_ = size.ws_col;
  height_ = size.ws_row;
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  // Overwrites the old frame line by line, then clears what is left of it, so that nothing
  // flickers.
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i > 0 ? "\r\n" : "") + safe_page(lines[i]) + "\033[K";
  }
  write_all(text + "\033[J");
}

LiveScreen::Event LiveScreen::wait(std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd files[] = {{signals_, POLLIN, 0}, {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    const int ready = ::poll(files, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready <= 0) return Event::kTime;
    Event event = Event::kTime;
    if (files[0].revents != 0) event = on_signal();
    if (event == Event::kTime && files[1].revents != 0) event = on_key();
    if (event != Event::kTime) return event;
  }
}

LiveScreen::Event LiveScreen::on_signal() {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return Event::kQuit;
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGTSTP) {
    leave();
    ::raise(SIGSTOP);  // until SIGCONT
    enter();
    return Event::kResized;
  }
  if (signal == SIGWINCH) {
    measure();
    return Event::kResized;
  }
  return Event::kQuit;
}

LiveScreen::Event LiveScreen::on_key() {
  char key = 0;
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  if (got <= 0) has_keys_ = false;  // the other end is closed
  return got > 0 && (key == 'q' || key == 'Q') ? Event::kQuit : Event::kTime;
}

}  // namespace stepscope
