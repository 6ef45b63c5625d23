#include "analyzer/import/trace_event.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "analyzer/import/json_string.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

namespace ondemand = simdjson::ondemand;
using Member = std::string_view TraceEvent::*;
struct Key {
  std::string_view text;
  Member member = nullptr;
};

// A perfect hash of a few known keys, computed at compile time: an event has twenty keys, and
// comparing each with all known keys would take longer than everything else.
template <std::size_t kCount>
class KeyTable {
 public:
  static constexpr std::size_t kSlots = 128;

  consteval explicit KeyTable(const std::array<Key, kCount>& keys) {
    for (const Key& key : keys) {
      Key& slot = slots_[slot_of(key.text)];
      if (slot.member != nullptr)
        throw "two keys in one slot: change slot_of()";  // at compile time
      slot = key;
    }
  }

  [[nodiscard]] Member find(std::string_view key) const {
    if (key.empty()) return nullptr;
    const Key& slot = slots_[slot_of(key)];
    return slot.text == key ? slot.member : nullptr;
  }

 private:
  static constexpr std::size_t slot_of(std::string_view key) {
    const auto at = [key](std::size_t i) { return static_cast<std::size_t>(key[i]); };
    return (key.size() + at(0) + at(key.size() - 1) * 2 + at(key.size() / 2)) % kSlots;
  }

  std::array<Key, kSlots> slots_{};
};

constexpr KeyTable kEventKeys(std::to_array<Key>({{"ph", &TraceEvent::phase},
                                                  {"cat", &TraceEvent::category},
                                                  {"name", &TraceEvent::name},
                                                  {"pid", &TraceEvent::process},
                                                  {"tid", &TraceEvent::thread},
                                                  {"ts", &TraceEvent::start},
                                                  {"dur", &TraceEvent::duration}}));

constexpr KeyTable kArgumentKeys(
    std::to_array<Key>({{"device", &TraceEvent::device},
                        {"context", &TraceEvent::context},
                        {"stream", &TraceEvent::stream},
                        {"correlation", &TraceEvent::correlation},
                        {"bytes", &TraceEvent::bytes},
                        {"registers per thread", &TraceEvent::registers},
                        {"shared memory", &TraceEvent::shared_memory},
                        {"grid", &TraceEvent::grid},
                        {"block", &TraceEvent::block},
                        {"graph id", &TraceEvent::graph},
                        {"graph node id", &TraceEvent::graph_node},
                        {"External id", &TraceEvent::external_id},
                        {"Sequence number", &TraceEvent::sequence},
                        {"Fwd thread id", &TraceEvent::forward_thread},
                        {"Input Dims", &TraceEvent::input_dims},
                        {"Device Type", &TraceEvent::device_type},
                        {"Device Id", &TraceEvent::device_id},
                        {"Total Allocated", &TraceEvent::total_allocated},
                        {"Total Reserved", &TraceEvent::total_reserved},
                        {"cuda_sync_kind", &TraceEvent::sync_kind},
                        {"name", &TraceEvent::text_name},
                        {"labels", &TraceEvent::labels}}));

// A key as written, without its quotes. Keys that matter have no escapes.
std::string_view key_text(ondemand::raw_json_string key, std::string_view batch) {
  const char* const begin = key.raw();
  const auto room = static_cast<std::size_t>(batch.data() + batch.size() - begin);
  const auto* const end =
      static_cast<const char*>(std::memchr(begin, '"', std::min<std::size_t>(room, 32)));
  return end == nullptr ? std::string_view() : std::string_view(begin, end);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// NaN and infinity are not JSON, but Python and C++ write them.
bool is_scalar(std::string_view text) {
  if (text.empty()) return false;
  if (text.front() == '"') return text.size() >= 2 && text.back() == '"';
  if (text.front() == '-' || (text.front() >= '0' && text.front() <= '9')) return true;
  constexpr std::string_view kWords[] = {"true", "false", "null", "NaN", "nan", "Infinity", "inf"};
  return std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
}

// A value as written.
simdjson::simdjson_result<std::string_view> raw_text(ondemand::value& value) {
  const std::string_view token = value.raw_json_token();
  if (token.starts_with('[')) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array); error != simdjson::SUCCESS) return error;
    return array.raw_json();
  }
  if (token.starts_with('{')) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object); error != simdjson::SUCCESS) return error;
    return object.raw_json();
  }
  const std::string_view scalar = without_blanks(token);
  if (!is_scalar(scalar)) return simdjson::INCORRECT_TYPE;
  return std::string_view(scalar);
}

simdjson::error_code read_member(ondemand::field& field, Member member, TraceEvent& event) {
  return raw_text(field.value()).get(event.*member);
}

simdjson::error_code read_arguments(ondemand::value& value, std::string_view batch,
                                    TraceEvent& event) {
  if (!std::string_view(value.raw_json_token()).starts_with('{')) return simdjson::SUCCESS;
  ondemand::object arguments;
  if (const auto error = value.get_object().get(arguments); error != simdjson::SUCCESS)
    return error;
  for (auto item : arguments) {
    ondemand::field field;
    if (const auto error = std::move(item).get(field); error != simdjson::SUCCESS) return error;
    const Member member = kArgumentKeys.find(key_text(field.key(), batch));
    if (member == nullptr) continue;
    if (const auto error = read_member(field, member, event); error != simdjson::SUCCESS)
      return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_event(ondemand::object object, std::string_view batch,
                                TraceEvent& event) {
  for (auto item : object) {
    ondemand::field field;
    if (const auto error = std::move(item).get(field); error != simdjson::SUCCESS) return error;
    const std::string_view key = key_text(field.key(), batch);
    simdjson::error_code error = simdjson::SUCCESS;
    if (key == "args") {
      error = read_arguments(field.value(), batch, event);
    } else if (const Member member = kEventKeys.find(key); member != nullptr) {
      error = read_member(field, member, event);
    }
    if (error != simdjson::SUCCESS) return error;
  }
  return simdjson::SUCCESS;
}

// Names may hold any bytes. Bytes that no JSON parser accepts are replaced: ill-formed UTF-8 by
// U+FFFD, a control character in a string by a blank.
std::string cleaned(std::string_view batch) {
  std::string text = clean_utf8(batch);
  JsonWalk walk;
  for (char& c : text) {
    if (walk.in_string && static_cast<unsigned char>(c) < 0x20) c = ' ';
    walk.take(c);
  }
  return text;
}

}  // namespace

struct TraceEventParser::Impl {
  using Visit = std::function<void(const TraceEvent&)>;

  // The result is that of parse(); `error` is simdjson's error for the batch as a whole.
  std::int64_t parse(std::string_view batch, std::size_t capacity, const Visit& visit,
                     simdjson::error_code& error);
  void resolve_strings(TraceEvent& event);

  ondemand::parser parser;
  std::array<std::string, 5> strings;
};

void TraceEventParser::Impl::resolve_strings(TraceEvent& event) {
  constexpr std::array<Member, 5> kStrings = {&TraceEvent::phase, &TraceEvent::category,
                                              &TraceEvent::name, &TraceEvent::process,
                                              &TraceEvent::thread};
  for (std::size_t i = 0; i < kStrings.size(); ++i) {
    event.*kStrings[i] = unescape_json(event.*kStrings[i], strings[i]);
  }
}

std::int64_t TraceEventParser::Impl::parse(std::string_view batch, std::size_t capacity,
                                           const Visit& visit, simdjson::error_code& error) {
  ondemand::document document;
  error = parser.iterate(simdjson::padded_string_view(batch, capacity)).get(document);
  if (error != simdjson::SUCCESS) return 0;
  ondemand::array events;
  if (document.get_array().get(events) != simdjson::SUCCESS) return 0;
  std::int64_t last = 0;
  for (auto item : events) {
    ondemand::value value;
    ondemand::object object;
    if (std::move(item).get(value) != simdjson::SUCCESS) return last;
    last = std::string_view(value.raw_json_token()).data() - batch.data();
    if (value.get_object().get(object) != simdjson::SUCCESS) return last;
    TraceEvent event;
    if (read_event(object, batch, event) != simdjson::SUCCESS) return last;
    resolve_strings(event);
    visit(event);
  }
  return -1;
}

TraceEventParser::TraceEventParser() : impl_(std::make_unique<Impl>()) {}
TraceEventParser::~TraceEventParser() = default;

std::int64_t TraceEventParser::parse(const TracePiece& batch,
                                     const std::function<void(const TraceEvent&)>& visit) {
  simdjson::error_code error = simdjson::SUCCESS;
  const std::int64_t broken =
      impl_->parse(batch.text, batch.text.size() + TraceCutter::kPadding, visit, error);
  if (error != simdjson::UTF8_ERROR && error != simdjson::UNESCAPED_CHARS) return broken;
  std::string text = cleaned(batch.text);
  const std::size_t length = text.size();
  text.append(simdjson::SIMDJSON_PADDING, ' ');
  const std::int64_t broken_there =
      impl_->parse(std::string_view(text).substr(0, length), text.size(), visit, error);
  if (broken_there < 0) return broken_there;
  return static_cast<std::int64_t>(
      offset_before_cleaning(batch.text, static_cast<std::size_t>(broken_there)));
}

}  // namespace stepscope
