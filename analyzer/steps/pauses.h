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
  std::vector<Phase> waits;  // the outermost, including those that found the loader exhausted
  std::vector<Phase> scopes, modes, draws;
};

// The pauses of one thread: around and between its outermost phases that train. `phases` must not
// be empty; both are by start. A mark belongs to a pause if it lies wholly in it.
std::vector<Pause> marked_pauses(const std::vector<Phase>& phases, const std::vector<Phase>& modes);

// Whether something occurs in most pauses (or steps): in `with` of the `of` that could have it.
// Then it is how this loop trains, not an exception. False if `of` is small.
bool is_usual(std::size_t with, std::size_t of);

// The first wait of the pause that ends after `time`.
std::vector<Phase>::const_iterator first_wait(const Pause& pause, SessionTime time);

// A stretch in which a model is in evaluation mode.
struct ModeRange {
  SessionTime from;
  std::optional<SessionTime> to;  // nullopt: to the end of the pause
};

std::vector<ModeRange> evaluation_modes(const Pause& pause, const TextOf& text);

// The starts of the waits for batches of evaluations, as modes and scopes show. Empty if most
// pauses with waits have such waits.
std::set<SessionTime> evaluation_waits(const std::vector<Pause>& pauses, const TextOf& text);

// `phases` without the waits that start at one of the times in `waits`.
std::vector<Phase> without_waits(const std::vector<Phase>& phases,
                                 const std::set<SessionTime>& waits);

}  // namespace stepscope
