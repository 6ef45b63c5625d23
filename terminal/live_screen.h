// A terminal for a view that refreshes: it uses the alternate screen, reads keys as they are
// pressed, and restores the terminal at the end, whatever ends the program.
//
// Signals that would end or stop the program are handled like keys, one at a time, so that the
// terminal is never left half restored. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the view; SIGTSTP
// (Ctrl-Z) restores the terminal for as long as the program is stopped.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepscope {

class LiveScreen {
 public:
  enum class Event : std::uint8_t { kTime, kResized, kQuit };

  // Standard output must be a terminal. If standard input is not one, there are no keys.
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t height() const { return height_; }

  // Draws in one write. The lines must fit on the screen.
  void draw(const std::vector<std::string>& lines);
  // Waits for this long, or until something happens earlier.
  Event wait(std::chrono::milliseconds most);

 private:
  void enter();
  void leave();
  void measure();
  Event on_signal();
  Event on_key();

  termios before_{};
  bool has_keys_ = false;
  int signals_ = -1;  // signalfd
  std::size_t width_ = 100;
  std::size_t height_ = 24;
};

}  // namespace stepscope
