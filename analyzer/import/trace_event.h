// One event of a Chrome trace as written. The meaning of its members depends on its category, which
// may come after them; so they are kept as text and converted where they are used.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/import/trace_cutter.h"
#include "store/status.h"

namespace stepscope {

// Views into the batch or into the parser, valid within the visit. Empty: absent.
struct TraceEvent {
  // With their escapes resolved.
  std::string_view phase, category, name, process, thread;
  // As written: numbers, also numbers in quotes.
  std::string_view start, duration;

  // Members of "args", as written: strings with their quotes, arrays with their brackets.
  std::string_view device, context, stream, correlation, bytes;
  std::string_view registers, shared_memory, grid, block, graph, graph_node;
  std::string_view external_id, sequence, forward_thread, input_dims;
  std::string_view device_type, device_id, total_allocated, total_reserved;
  std::string_view sync_kind, text_name, labels;
};

class TraceEventParser {
 public:
  TraceEventParser();
  ~TraceEventParser();
  TraceEventParser(const TraceEventParser&) = delete;
  TraceEventParser& operator=(const TraceEventParser&) = delete;

  // Calls `visit` for each event of a batch. Where the batch is not JSON, all events before
  // that have been visited and the result is the offset of the broken event in the batch; -1 on
  // success.
  std::int64_t parse(const TracePiece& batch, const std::function<void(const TraceEvent&)>& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
