// Infers steps where nothing marks them: if a thread repeats the same ops, each round is a step.
// For inference loops without a loader; docs/attribution.md, "Steps from ops".
#pragma once

#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/cycle.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Adds a loop for each thread whose ops repeat, in the processes that have none in `loops`, with
// the waits before its rounds as inferred input. Skips other threads of a process whose main thread
// repeats, and processes whose ancestor has a loop: they prepare its batches. `loops` stays in the
// order of the threads. Reads the ops once more if there is such a process.
//
// Memory: two windows of kItemWindow items for all threads together (LoopItems), and a word a step.
// Fails only when reading the ops fails.
Status infer_steps(const RecordedRun& recording, std::vector<Loop>& loops);

// The same for the items of one thread, which come in parts. The cycle is that of the first
// examined part that has one; rounds before that part are missed.
class RoundReader {
 public:
  // `windowed`: ops were recorded in some steps only. A pause in recording is not a wait: the loop
  // is the longest sequence of rounds between such pauses.
  explicit RoundReader(bool windowed = false) : windowed_(windowed) {}

  void add(std::vector<LoopItem> items);

  // Fills steps and input of `loop`; no steps where nothing repeats. add() must not follow.
  void finish(Loop& loop);

 private:
  struct Round {
    TimeRange wait;  // the gap before it; empty if that does not stand out
    std::size_t items = 0;
    bool computes = false;  // any item does; initialising the layers of a model does not
    SessionTime end;        // of its last item, up to the usual number of items
  };

  void place(const LoopItem& item, bool begins_round);
  void drop_odd_ends();
  void keep_longest_window();

  bool windowed_ = false;
  std::size_t parts_ = 0;  // parts that came before the cycle was found
  std::optional<Cycle> cycle_;
  std::optional<CycleCutter> cutter_;
  std::vector<Round> rounds_;
};

}  // namespace stepscope
