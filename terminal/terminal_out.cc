#include "terminal/terminal_out.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "analyzer/printable.h"
#include "analyzer/text_width.h"
#include "present/terminal_text.h"

namespace stepscope {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";
constexpr std::string_view kClearBelow = "\033[J";
constexpr std::size_t kUsualColumns = 80;

// The start of `page` that stays as it is: nothing, a line end, or one of our colours.
std::string_view own_mark(std::string_view page) {
  if (page.starts_with('\n')) return page.substr(0, 1);
  const auto* const code =
      std::find_if(kColorCodes.begin(), kColorCodes.end(),
                   [page](std::string_view each) { return page.starts_with(each); });
  return code == kColorCodes.end() ? std::string_view() : *code;
}

void put(std::FILE* file, std::string_view bytes) {
  // An error of standard error cannot be reported anywhere.
  static_cast<void>(std::fwrite(bytes.data(), 1, bytes.size(), file));
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

Status write_all(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return {};
  }
  return Status::error(ErrorKind::kIo, "standard output: cannot be written");
}

}  // namespace

bool takes_control_codes(int fd) {
  const char* const name = std::getenv("TERM");
  return name != nullptr && *name != '\0' && std::string_view(name) != "dumb" && isatty(fd) == 1;
}

bool stdout_wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && takes_control_codes(STDOUT_FILENO);
}

std::string safe_page(std::string_view page) {
  constexpr std::string_view kMarks = "\n\033";
  std::string safe;
  safe.reserve(page.size());
  while (!page.empty()) {
    const std::string_view mark = own_mark(page);
    safe += mark;
    page.remove_prefix(mark.size());
    // An escape sequence that is not ours is treated like the text after it.
    const std::size_t end = page.find_first_of(kMarks, mark.empty() ? 1 : 0);
    safe += printable(page.substr(0, end));
    page.remove_prefix(std::min(end, page.size()));
  }
  return safe;
}

void print(std::FILE* file, std::string_view page) { put(file, safe_page(page)); }

void print_line(std::FILE* file, std::string_view line) { put(file, printable(line) + "\n"); }

Status write_page(std::string_view page) { return write_all(safe_page(page)); }

Status write_json(std::string_view document) { return write_all(printable_json(document)); }

void show_status(std::string_view line) {
  // One less: in the last column, the cursor of some terminals is in the next row already.
  put(stderr, std::string(kClearLine) + cut(line, columns_of(STDERR_FILENO) - 1) + "\r");
  std::fflush(stderr);
}

void clear_status() { put(stderr, kClearLine); }

void show_status_below(std::string_view line) {
  const std::size_t columns = columns_of(STDERR_FILENO);
  const std::string text = cut(line, columns);
  const std::size_t column = columns - width_of(text) + 1;
  // Down a row, which scrolls if there is none, and up again: now there is one. Then to it and
  // back, with the cursor saved meanwhile.
  put(stderr,
      "\033D\033[A\0337\033[B\r\033[K\033[" + std::to_string(column) + "G" + text + "\0338");
  std::fflush(stderr);
}

void clear_status_below() {
  put(stderr, kClearBelow);
  std::fflush(stderr);
}

void start_row() {
  if (!takes_control_codes(STDERR_FILENO)) return;
  // As many blanks as there are columns end in the last one of this row if they begin in its first
  // one, and in the next row otherwise.
  put(stderr, std::string(columns_of(STDERR_FILENO), ' ') + "\r");
}

}  // namespace stepscope
