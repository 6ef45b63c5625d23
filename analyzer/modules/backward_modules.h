// Which module's forward pass made each autograd node, so that the node's time is that module's
// backward time. docs/modules.md states the rules.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "store/events.h"
#include "store/time.h"

namespace stepscope {

// Modules are numbers of the caller's.
class BackwardModules {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  // Called for each node of a known module with its own time, without that of the nodes inside it,
  // and with the number of ops that were recorded for it: the node and those inside it.
  using Visitor = std::function<void(std::size_t module, Duration own, std::int64_t ops)>;

  explicit BackwardModules(Visitor visit) : visit_(std::move(visit)) {}

  // `torch_id`: libtorch's number for the thread; 0: unknown. Add each thread before its ops.
  void add_thread(ThreadId thread, std::uint32_t torch_id);
  // Adds an op that began while `module` was the innermost open one. The ops of one thread must
  // come in the order of their ends. Nodes wait until their forward ops have surely come.
  void add(const Op& op, std::size_t module);
  // Call it after all ops.
  void finish() { resolve_first(nodes_.size()); }

 private:
  // The autograd sequence numbers of a thread's latest ops, each with the module it was in. An op
  // that makes a node has the node's number, and so may earlier ops: the last one to begin made it.
  class Sequences {
   public:
    void note(std::int64_t sequence, SessionTime start, std::size_t module);
    [[nodiscard]] std::size_t module_of(std::int64_t sequence) const;

   private:
    struct Entry {
      std::int64_t sequence = -1;
      SessionTime start;
      std::size_t module = kNone;
    };
    std::vector<Entry> entries_;
  };
  struct Node {
    ThreadId thread;
    SessionTime start;
    Duration dur;
    std::int64_t sequence;
    std::uint32_t forward_thread;
    std::int64_t ops;
  };
  struct Thread {
    Sequences sequences;
    std::vector<SessionTime> op_starts;  // of the latest ops that lie in no node so far
    std::vector<Node> resolved;          // the latest; some may lie in a node that has not come yet
    std::size_t last_module = kNone;     // of the latest node
  };

  static std::int64_t take_ops_inside(Thread& thread, const Op& op);
  void resolve_first(std::size_t count);
  void resolve(const Node& node);

  Visitor visit_;
  std::map<ThreadId, Thread> threads_;
  std::map<std::uint32_t, ThreadId> by_torch_id_;
  std::deque<Node> nodes_;
};

}  // namespace stepscope
