// Finds the op of an API call by containment: the call begins inside the op, on the same thread. So
// ops need not notify the device layer when they begin, and launches from compiled code or from
// other libraries inside an op find their op, too. For a call in a backward pass also finds the
// autograd node and, by its sequence number, the op of the forward pass that made the node.
//
// Memory: 16 bytes a call, 32 a call in an autograd node, and 32 an op that made one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/ops/op_class.h"
#include "analyzer/recording.h"
#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

// A call in an autograd node, by the ids of their rows.
struct CallNode {
  std::int64_t api_call = 0;
  std::int64_t node = 0;
  std::int64_t forward_op = 0;  // 0: not seen
};

// Both by api_call.
struct CallOrigins {
  std::vector<CallOp> ops;
  std::vector<CallNode> nodes;
};

// Takes the ops as a store returns them: those of one thread in the order of their ends, so that
// the inner of two ops around a call comes first.
//
// Thread safety: none.
class CallOps {
 public:
  // Both must outlive this.
  CallOps(const RecordedRun& recording, const DeviceWork& work);

  // `id`: op.id. Ranges that a profiler puts around everything do not count as ops.
  void add(const Op& op, std::int64_t id, OpClass kind);
  // No other method may be called after it.
  CallOrigins take();

 private:
  // The calls of a thread that no range so far contains.
  class Unclaimed {
   public:
    explicit Unclaimed(std::span<const HostCall> calls) : calls_(calls) {}
    // Removes those that begin in `range`; calls `claim(row)` for each.
    template <typename Claim>
    void claim(TimeRange range, Claim claim);

   private:
    std::span<const HostCall> calls_;
    std::size_t next_ = 0;           // the first call that begins after every range so far
    std::vector<std::size_t> open_;  // earlier calls that are in no range yet, by start
  };
  struct ThreadCalls {
    Unclaimed by_ops;
    Unclaimed by_nodes;
  };
  // Identifies an autograd node: sequence numbers are unique per thread, thread ids per process.
  struct NodeKey {
    ProcessId process = ProcessId::kNone;
    std::uint32_t torch_id = 0;
    std::int64_t sequence = 0;

    friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
  };
  // An op that may have made the node.
  struct Maker {
    NodeKey key;
    SessionTime start;
    std::int64_t op = 0;
  };
  struct InNode {
    std::int64_t api_call = 0;
    std::size_t node = 0;  // in nodes_
  };

  ThreadCalls& calls_of(ThreadId thread);
  // `key`: that of the op's thread.
  void add_maker(const Op& op, std::int64_t id, NodeKey key);
  void add_node(const Op& op, std::int64_t id, ProcessId process, ThreadCalls& calls);
  [[nodiscard]] std::int64_t maker_of(const Maker& node) const;

  const DeviceWork& work_;
  std::unordered_map<ThreadId, NodeKey> threads_;  // without a sequence
  std::map<ThreadId, ThreadCalls> calls_;
  std::vector<CallOp> found_;
  std::vector<Maker> makers_;
  std::vector<Maker> nodes_;  // in which calls were made
  std::vector<InNode> in_nodes_;
};

}  // namespace stepscope
