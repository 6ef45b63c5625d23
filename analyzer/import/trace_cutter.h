// Cuts a Chrome trace into pieces that fit into memory: batches of whole events, and the other
// members of the document.
//
//   {"schemaVersion": 1, "traceEvents": [ {…}, {…}, … ], "baseTimeNanoseconds": 17…}
//    └──── member ────┘                  └── batches ──┘  └──────── member ────────┘
//
// Also accepts a bare array of events, whose closing bracket may be missing: both are valid Chrome
// traces.
//
// Thread safety: none. Memory: a buffer large enough for the longest event, at most kLongestEvent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/json_scan.h"
#include "store/status.h"

namespace stepscope {

struct TracePiece {
  enum class Kind : std::uint8_t {
    kMember,  // key and value, both as written; the value is empty if longer than
              // kLongestMember
    kEvents,  // "[{…},{…}]", followed by kPadding readable bytes
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string_view key;     // with its quotes
  std::string_view text;    // valid until the next piece
  std::int64_t offset = 0;  // of text in the (decompressed) stream
};

class TraceCutter {
 public:
  static constexpr std::size_t kPadding = 64;  // SIMDJSON_PADDING
  static constexpr std::size_t kLongestMember = std::size_t{1} << 20;
  static constexpr std::size_t kLongestEvent = std::size_t{64} << 20;

  // Errors name `name`. `batch` is about how long a batch is.
  TraceCutter(ByteSource& source, std::string name, std::size_t batch = std::size_t{1} << 19);

  // Errors: those of the source; kBadInput (not a trace, cut off, not JSON) with the offset. All
  // whole events before the place of an error have been handed out before it is reported.
  Result<TracePiece> next();

  [[nodiscard]] Status error_at(std::int64_t offset, const std::string& what) const;

 private:
  static constexpr std::size_t kTail = kPadding + 1;  // room for the closing bracket
  enum class State : std::uint8_t { kStart, kMembers, kEvents, kDone };

  [[nodiscard]] std::string_view unread() const;
  [[nodiscard]] std::int64_t offset_of(std::size_t at) const;
  // Reads more data after the unread part, moving that to the front or growing the buffer if there
  // is no room. False at the end of the stream.
  Result<bool> fill();
  // The next byte that is not whitespace (nor one of `skip`), left unread; 0 at the end.
  Result<char> peek(std::string_view skip = {});
  Status start();
  Status skip_byte_order_mark();
  // Both return a kEnd when they have only changed the state.
  Result<TracePiece> next_member();
  Result<TracePiece> next_events();
  TracePiece lend(std::size_t length);
  void take_back_bracket();
  Result<TracePiece> end_of_events(char next);
  // Reads the string or value that begins here into `text`; leaves it empty when it is too long.
  Status take_value(std::string& text);
  Status unexpected(char found, const char* wanted) const;
  Status check_rest();

  ByteSource& source_;
  const std::string name_;
  const std::size_t batch_;
  std::vector<char> buffer_;
  std::size_t begin_ = 1;  // start of the unread part; buffer_[0] is room for a bracket
  std::size_t end_ = 1;
  std::int64_t buffer_offset_ = -1;  // of buffer_[0] in the stream
  State state_ = State::kStart;
  bool bare_ = false;
  bool lent_ = false;
  char behind_ = 0;
  std::string key_, value_;
};

}  // namespace stepscope
