// The pauses of a training loop: what its thread did between a backward pass, optimizer step or
// zero_grad and the next one, and which of the batches in them are for an evaluation.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/steps/find_loops.h"

namespace stepscope {

using TextOf = std::function<std::string_view(StringId)>;

// A stretch of the thread without training, and what is marked in it.
struct Pause {
  TimeRange range;
  std::vector<Phase> waits;  // the outermost, also those that found the loader exhausted
  std::vector<Phase> scopes, modes, draws;
};

// Those of one thread: around and between its outermost phases that train. `phases` are not empty;
// both are by start. A mark counts where it lies in a pause as a whole.
std::vector<Pause> marked_pauses(const std::vector<Phase>& phases, const std::vector<Phase>& modes);

// Whether so many of the pauses (or steps) that could have it are most of them: then it is how this
// loop trains, and no exception. Of few nothing is usual.
bool is_usual(std::size_t with, std::size_t of);

// The first wait of the pause that ends after `time`.
std::vector<Phase>::const_iterator first_wait(const Pause& pause, SessionTime time);

// A model is in evaluation mode.
struct ModeRange {
  SessionTime from;
  std::optional<SessionTime> to;  // nothing: to the end of the pause
};

std::vector<ModeRange> evaluation_modes(const Pause& pause, const TextOf& text);

// The starts of the waits for batches of evaluations, as modes and scopes say. None where that is
// usual in the pauses that have waits.
std::set<SessionTime> evaluation_waits(const std::vector<Pause>& pauses, const TextOf& text);

// `phases` without the waits that start then.
std::vector<Phase> without_waits(const std::vector<Phase>& phases,
                                 const std::set<SessionTime>& waits);

}  // namespace stepscope
