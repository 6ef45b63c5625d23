// Which op an API call was made in, by containment: the call begins inside the op, on the same
// thread. So no op has to tell the device layer that it began, and what is launched from compiled
// code or from other libraries inside an op finds its op too.
//
// Memory: 16 bytes a call.
#pragma once

#include <map>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/attribute/op_class.h"
#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

// Takes the ops as a store hands them out: of one thread in the order of their ends, so that of two
// ops around a call the inner one comes first.
//
// Thread safety: none.
class CallOps {
 public:
  explicit CallOps(const DeviceWork& work) : work_(work) {}

  // `id`: op.id. Ranges that a profiler puts around everything are no ops.
  void add(const Op& op, std::int64_t id, OpClass kind);
  // By api_call. No call of another method after it.
  std::vector<CallOp> take();

 private:
  struct ThreadCalls {
    std::span<const HostCall> calls;
    std::size_t next = 0;           // the first that begins after every op so far
    std::vector<std::size_t> open;  // before it, in no op yet; by start
  };

  const DeviceWork& work_;
  std::map<ThreadId, ThreadCalls> threads_;
  std::vector<CallOp> found_;
};

}  // namespace stepscope
