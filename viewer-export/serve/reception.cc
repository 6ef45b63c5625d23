#include "viewer-export/serve/reception.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <span>
#include <vector>

#include "viewer-export/serve/request.h"
#include "viewer-export/serve/site.h"

namespace stepscope {
namespace {

// Without free descriptors, nothing can be accepted, and poll() would return at once, forever.
constexpr int kStarvedMs = 50;

bool is_starvation(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace

Reception::Reception(Socket listener, Limits limits, Arrived arrived)
    : listener_(std::move(listener)),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      limits_(limits),
      arrived_(std::move(arrived)) {}

Status Reception::run() {
  if (stop_event_.fd() < 0) return Status::error(ErrorKind::kIo, "no file descriptor is free");
  std::vector<pollfd> files;
  while (true) {
    files.assign({{stop_event_.fd(), POLLIN, 0}, {starved_ ? -1 : listener_.fd(), POLLIN, 0}});
    for (const Waiting& connection : waiting_) files.push_back({connection.socket.fd(), POLLIN, 0});
    ::poll(files.data(), files.size(), ms_to_next());
    if (files[0].revents != 0) return {};
    // Reads what has arrived before any connection is closed to make room for new ones.
    read_ready(std::span(files).subspan(2));
    drop_late();
    accept_all();
  }
}

void Reception::stop() { ::eventfd_write(stop_event_.fd(), 1); }

int Reception::ms_to_next() const {
  const int most = starved_ ? kStarvedMs : -1;
  if (waiting_.empty()) return most;
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(waiting_.front().until - Clock::now());
  const int ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  return most < 0 ? ms : std::min(ms, most);
}

void Reception::accept_all() {
  constexpr int kMax = 64;  // then the waiting connections are read again
  starved_ = false;
  for (int i = 0; i < kMax; ++i) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.fd() < 0) {
      if (!is_starvation(errno)) return;  // there are no more, or the next one has gone again
      starved_ = waiting_.empty();
      if (starved_) return;
      drop_oldest();
      continue;
    }
    waiting_.push_back({std::move(socket), Clock::now() + limits_.patience, {}});
    // A browser's request has often arrived already.
    if (read_some(waiting_.back()) == Reading::kOver) waiting_.pop_back();
    if (waiting_.size() > limits_.most_waiting) drop_oldest();
  }
}

void Reception::read_ready(std::span<const pollfd> files) {
  auto it = waiting_.begin();
  for (const pollfd& file : files) {
    const bool over = file.revents != 0 && read_some(*it) == Reading::kOver;
    it = over ? waiting_.erase(it) : std::next(it);
  }
}

Reception::Reading Reception::read_some(Waiting& connection) {
  std::array<char, 4096> piece;
  const ssize_t got = ::recv(connection.socket.fd(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Reading::kGoesOn : Reading::kOver;
  if (got == 0) return Reading::kOver;
  connection.bytes.append(piece.data(), static_cast<std::size_t>(got));
  const auto end = end_of_head(connection.bytes);
  if (end && *end <= kLargestHead) {
    connection.bytes.resize(*end);
    arrived_(std::move(connection.socket), std::move(connection.bytes));
    return Reading::kOver;
  }
  if (connection.bytes.size() < kLargestHead) return Reading::kGoesOn;
  const Answer answer = refusal(431, "The request header is too long.");
  send_and_close(std::move(connection.socket), head_of(answer) + answer.body);
  return Reading::kOver;
}

void Reception::drop_late() {
  const auto now = Clock::now();
  while (!waiting_.empty() && waiting_.front().until <= now) {
    // Browsers open connections ahead of need, and do not expect an answer there.
    if (!waiting_.front().bytes.empty()) {
      const Answer answer = refusal(408, "The request did not arrive in time.");
      send_and_close(std::move(waiting_.front().socket), head_of(answer) + answer.body);
    }
    drop_oldest();
  }
}

void Reception::drop_oldest() { waiting_.pop_front(); }

}  // namespace stepscope
