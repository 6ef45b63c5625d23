#include "analyzer/import/trace_cutter.h"

#include <cstring>
#include <utility>

namespace stepscope {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool ends_scalar(char c) { return c == ',' || c == '}' || c == ']' || is_blank(c); }

bool begins_value(char c) {
  constexpr std::string_view kFirst = "\"{[-0123456789tfnNI";
  return kFirst.find(c) != std::string_view::npos;
}

std::string quoted(char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c >= 0x20 && c < 0x7f) return std::string("'") + c + "'";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("the byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

}  // namespace

TraceCutter::TraceCutter(ByteSource& source, std::string name, std::size_t batch)
    : source_(source), name_(std::move(name)), batch_(batch), buffer_(1 + batch + kTail) {}

Result<TracePiece> TraceCutter::next() {
  if (state_ == State::kStart) {
    if (Status status = start(); !status.ok()) return status;
  }
  take_back_bracket();
  while (state_ != State::kDone) {
    Result<TracePiece> piece = state_ == State::kEvents ? next_events() : next_member();
    if (!piece.ok() || piece->kind != TracePiece::Kind::kEnd) return piece;
  }
  return TracePiece{};
}

Status TraceCutter::error_at(std::int64_t offset, const std::string& what) const {
  return Status::error(ErrorKind::kBadInput,
                       name_ + ": byte " + std::to_string(offset) + ": " + what);
}

std::string_view TraceCutter::unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

std::int64_t TraceCutter::offset_of(std::size_t at) const {
  return buffer_offset_ + static_cast<std::int64_t>(at);
}

Result<bool> TraceCutter::fill() {
  if (begin_ > 1) {
    std::memmove(buffer_.data() + 1, buffer_.data() + begin_, end_ - begin_);
    buffer_offset_ += static_cast<std::int64_t>(begin_ - 1);
    end_ -= begin_ - 1;
    begin_ = 1;
  }
  if (end_ + kTail == buffer_.size()) {
    if (end_ > kLongestEvent) return error_at(offset_of(begin_), "an event of more than 64 MiB");
    buffer_.resize(1 + 2 * (end_ - 1) + kTail);
  }
  const Result<std::size_t> count =
      source_.read(buffer_.data() + end_, buffer_.size() - kTail - end_);
  if (!count.ok()) return count.status();
  end_ += *count;
  return *count > 0;
}

Result<char> TraceCutter::peek(std::string_view skip) {
  while (true) {
    for (; begin_ < end_; ++begin_) {
      const char c = buffer_[begin_];
      if (!is_blank(c) && skip.find(c) == std::string_view::npos) return c;
    }
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more) return '\0';
  }
}

Status TraceCutter::unexpected(char found, const char* wanted) const {
  if (begin_ == end_) {
    return error_at(offset_of(end_),
                    "the file ends here (was it cut off?): " + std::string(wanted) + " is missing");
  }
  return error_at(offset_of(begin_), quoted(found) + " instead of " + wanted);
}

Status TraceCutter::start() {
  const Result<char> first = peek();
  if (!first.ok()) return first.status();
  if (begin_ == end_) return error_at(0, "the file is empty");
  if (offset_of(begin_) == 0 && *first == kByteOrderMark.front()) {
    if (Status status = skip_byte_order_mark(); !status.ok()) return status;
    if (offset_of(begin_) != 0) return start();
  }
  if (*first != '{' && *first != '[') {
    return error_at(offset_of(begin_),
                    "not a trace: JSON begins with '{', not with " + quoted(*first));
  }
  bare_ = *first == '[';
  state_ = bare_ ? State::kEvents : State::kMembers;
  ++begin_;
  return {};
}

// Some editors write one. The source may return less than its three bytes at a time.
Status TraceCutter::skip_byte_order_mark() {
  while (unread().size() < kByteOrderMark.size()) {
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more) return {};
  }
  if (unread().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
  return {};
}

Status TraceCutter::take_value(std::string& text) {
  text.clear();
  JsonWalk walk;
  bool first = true;
  bool scalar = false;
  while (true) {
    for (; begin_ < end_; ++begin_) {
      const char c = buffer_[begin_];
      if (scalar && ends_scalar(c)) return {};
      walk.take(c);
      if (text.size() <= kLongestMember) text.push_back(c);
      if (std::exchange(first, false)) scalar = !walk.in_string && walk.depth == 0;
      if (!scalar && !walk.in_string && walk.depth == 0) {
        ++begin_;
        if (text.size() > kLongestMember) text.clear();
        return {};
      }
    }
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more) return unexpected('\0', "the rest of a value");
  }
}

Status TraceCutter::check_rest() {
  state_ = State::kDone;
  const Result<char> after = peek();
  if (!after.ok()) return after.status();
  return begin_ == end_ ? Status() : unexpected(*after, "the end of the file");
}

Result<TracePiece> TraceCutter::next_member() {
  Result<char> c = peek(",");
  if (!c.ok()) return c.status();
  if (*c == '}') {
    ++begin_;
    if (Status status = check_rest(); !status.ok()) return status;
    return TracePiece{};
  }
  if (*c != '"') return unexpected(*c, "a key");
  if (Status status = take_value(key_); !status.ok()) return status;
  c = peek();
  if (!c.ok()) return c.status();
  if (*c != ':') return unexpected(*c, "':'");
  ++begin_;
  c = peek();
  if (!c.ok()) return c.status();
  if (key_ == "\"traceEvents\"" && *c == '[') {
    ++begin_;
    state_ = State::kEvents;
    return TracePiece{};
  }
  if (begin_ == end_ || !begins_value(*c)) return unexpected(*c, "a value");
  const std::int64_t offset = offset_of(begin_);
  if (Status status = take_value(value_); !status.ok()) return status;
  return TracePiece{TracePiece::Kind::kMember, key_, value_, offset};
}

// Handles what follows the last whole event that was handed out: the end of the array, or an error.
Result<TracePiece> TraceCutter::end_of_events(char next) {
  const bool ended = begin_ == end_;
  if (next != ']' && !(ended && bare_)) return unexpected(next, "an event or ']'");
  if (!ended) ++begin_;
  if (!bare_) {
    state_ = State::kMembers;
    return TracePiece{};
  }
  if (Status status = check_rest(); !status.ok()) return status;
  return TracePiece{};
}

Result<TracePiece> TraceCutter::next_events() {
  const Result<char> first = peek(",");
  if (!first.ok()) return first.status();
  if (*first != '{' || begin_ == end_) return end_of_events(*first);
  std::size_t length = std::string_view::npos;
  while (true) {
    length = end_of_object(unread(), 0);
    if (length != std::string_view::npos) break;
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more)
      return error_at(offset_of(begin_), "the file ends within this event (was it cut off?)");
  }
  // Adds as many more whole events as are in the buffer.
  const std::string_view text = unread();
  for (std::size_t at = length; at < text.size() && at < batch_; ++at) {
    if (is_blank(text[at]) || text[at] == ',') continue;
    if (text[at] != '{') break;
    const std::size_t end = end_of_object(text, at);
    if (end == std::string_view::npos) break;
    length = end;
    at = end - 1;
  }
  return lend(length);
}

// Puts brackets around the events in place: there is always a byte before the first event, and the
// byte after the last one is restored before anything else is read.
TracePiece TraceCutter::lend(std::size_t length) {
  const std::size_t from = begin_ - 1;
  begin_ += length;
  behind_ = std::exchange(buffer_[begin_], ']');
  lent_ = true;
  buffer_[from] = '[';
  return {TracePiece::Kind::kEvents, {}, {buffer_.data() + from, length + 2}, offset_of(from)};
}

void TraceCutter::take_back_bracket() {
  if (std::exchange(lent_, false)) buffer_[begin_] = behind_;
}

}  // namespace stepscope
