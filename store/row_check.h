// The one place where values from a store's rows are converted to our types. A store may be damaged
// or malicious, so every id must name an existing row, every kind must be known, and every time and
// duration must be small enough to compute with. Values that pass can be used as indexes and added
// up. Internal to store/.
//
//   RowCheck check("kernel", known);
//   for_each_row(database, "SELECT stream_id, …, id FROM kernel ORDER BY id",
//                [&](const Statement& row) {
//                  check.next_row(row.integer(9));
//                  Kernel kernel{check.stream(row.value(0)), …};
//                  if (!check.ok()) return check.status(database);
//                  …
//
// The first error is kept and reported; values returned after it mean nothing.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "store/device_events.h"
#include "store/events.h"
#include "store/limits.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// The number of rows in each table that others refer to. Their ids run from 1 to that number,
// without gaps.
struct KnownIds {
  std::int64_t strings = 0;
  std::int64_t processes = 0;
  std::int64_t threads = 0;
  std::int64_t devices = 0;
  std::int64_t streams = 0;
};

class RowCheck {
 public:
  // `table`: its name in messages. `after`: the id that precedes the first row.
  RowCheck(const char* table, const KnownIds& known, std::int64_t after = 0)
      : table_(table), known_(known), row_(after) {}

  // Selects the row whose values are checked next. Its id must follow that of the previous row.
  void next_row(std::int64_t id) {
    if (id != row_ + 1) {
      fail("follows row " + std::to_string(row_) + ", so rows are missing or out of order", id);
    }
    row_ = id;
  }
  // The same for a table that is kept in memory: at most kMaxEntities rows.
  void next_entity(std::int64_t id) {
    next_row(id);
    if (id > kMaxEntities) fail("is one more than a store may have");
  }
  // The same for ids with gaps or in another order.
  void any_row(std::int64_t id) { row_ = id; }
  // For rows that must come in order of start.
  void in_order(SessionTime start) {
    if (start < last_start_) fail("comes before the row that it should follow");
    last_start_ = start;
  }

  [[nodiscard]] bool ok() const { return wrong_.empty(); }
  // kBadInput; only when !ok().
  [[nodiscard]] Status status(const Database& database) const;

  // Integers from `least` to `most`. NULL and other types are errors, except that the functions
  // with `otherwise` return it for NULL.
  std::int64_t integer(sqlite3_value* value, const char* column, std::int64_t least,
                       std::int64_t most) {
    if (sqlite3_value_type(value) != SQLITE_INTEGER) return not_an_integer(value, column);
    const std::int64_t number = sqlite3_value_int64(value);
    if (number < least || number > most) return out_of_range(number, column);
    return number;
  }
  std::int64_t integer_or(sqlite3_value* value, const char* column, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most) {
    if (sqlite3_value_type(value) == SQLITE_NULL) return otherwise;
    return integer(value, column, least, most);
  }
  std::int64_t any_integer(sqlite3_value* value, const char* column) {
    return integer(value, column, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max());
  }
  std::int64_t any_integer_or(sqlite3_value* value, const char* column, std::int64_t otherwise) {
    return integer_or(value, column, otherwise, std::numeric_limits<std::int64_t>::min(),
                      std::numeric_limits<std::int64_t>::max());
  }
  bool flag(sqlite3_value* value, const char* column) { return integer(value, column, 0, 1) != 0; }

  // Ids. Where an id may be absent, NULL and 0 give kNone.
  StringId string(sqlite3_value* value, const char* column = "name_id") {
    return static_cast<StringId>(integer_or(value, column, 0, 0, known_.strings));
  }
  ProcessId process(sqlite3_value* value, const char* column = "process_id") {
    return static_cast<ProcessId>(integer(value, column, 1, known_.processes));
  }
  ProcessId process_or_none(sqlite3_value* value) {
    return static_cast<ProcessId>(integer_or(value, "process_id", 0, 0, known_.processes));
  }
  ThreadId thread(sqlite3_value* value) {
    return static_cast<ThreadId>(integer(value, "thread_id", 1, known_.threads));
  }
  ThreadId thread_or_none(sqlite3_value* value) {
    return static_cast<ThreadId>(integer_or(value, "thread_id", 0, 0, known_.threads));
  }
  DeviceId device_or_none(sqlite3_value* value) {
    return static_cast<DeviceId>(integer_or(value, "device_id", 0, 0, known_.devices));
  }
  StreamId stream_or_none(sqlite3_value* value) {
    return static_cast<StreamId>(integer_or(value, "stream_id", 0, 0, known_.streams));
  }
  std::int64_t correlation(sqlite3_value* value) {
    return integer_or(value, "correlation", 0, 0, std::numeric_limits<std::int64_t>::max());
  }

  template <typename Enum>
  Enum kind(sqlite3_value* value, const char* column, Enum last) {
    return static_cast<Enum>(integer(value, column, 0, static_cast<std::int64_t>(last)));
  }

  SessionTime time(sqlite3_value* value, const char* column = "start_ns") {
    return session_time(integer(value, column, -kFarthestNs, kFarthestNs));
  }
  // Durations. Also checks their sum over all rows.
  Duration duration(sqlite3_value* value, const char* column = "dur_ns") {
    return Duration(amount(value, column, durations_));
  }
  // A part of `whole`, a duration that has been checked.
  Duration part(sqlite3_value* value, const char* column, Duration whole) {
    return Duration(integer(value, column, 0, to_ns(whole)));
  }
  // Numbers of bytes or events. Also checks their sum over all rows.
  std::int64_t count(sqlite3_value* value, const char* column) {
    return amount(value, column, counts_);
  }
  // Texts of a table that is kept in memory: at most kMaxNameBytes together.
  std::string name(std::string text) {
    name_bytes_ += static_cast<std::int64_t>(text.size());
    if (name_bytes_ > kMaxNameBytes)
      fail("and those before it have longer names than a store may hold");
    return text;
  }
  // Numbers of blocks, threads or registers, which fit into an int.
  std::int32_t small(sqlite3_value* value, const char* column) {
    return static_cast<std::int32_t>(integer(value, column, 0, kLargestNumber));
  }

  // For errors that only the caller can detect.
  void fail(const std::string& what) { fail(what, row_); }

 private:
  void fail(const std::string& what, std::int64_t row);
  std::int64_t not_an_integer(sqlite3_value* value, const char* column);
  std::int64_t out_of_range(std::int64_t number, const char* column);
  std::int64_t amount(sqlite3_value* value, const char* column, std::int64_t& sum) {
    const std::int64_t number = integer(value, column, 0, kMaxInAll);
    if (number > kMaxInAll - sum) return too_much(column);
    sum += number;
    return number;
  }
  std::int64_t too_much(const char* column);

  const char* const table_;
  const KnownIds& known_;
  std::int64_t row_ = 0;
  std::int64_t durations_ = 0;
  std::int64_t counts_ = 0;
  std::int64_t name_bytes_ = 0;
  SessionTime last_start_ = SessionTime::min();
  std::string wrong_;
};

}  // namespace stepscope
