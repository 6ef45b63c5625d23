#include "profiler/recorder/ops_blocks.h"

#include <algorithm>

namespace stepscope {

bool OpsBlocks::all_over() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.over; });
}

void OpsBlocks::begin(const Process& process, SessionTime now) {
  const bool is_in_one = std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return block.pid == process.pid && !block.over;
  });
  if (is_in_one) return;
  blocks_.push_back({process.pid, process.rank, process.step, now, now, false});
  *process.ops_switch = OpsSwitch::kOn;
}

bool OpsBlocks::is_long_enough(const Block& block, std::int64_t step, SessionTime now) {
  const auto length = now - block.begin;
  return length >= kMaxLength || (length >= kMinLength && step - block.first_step >= kSteps);
}

bool OpsBlocks::end_due(std::span<const Process> running, OpsSwitch usual, SessionTime now) {
  bool ended = false;
  for (Block& block : blocks_) {
    if (block.over) continue;
    const auto process = std::find_if(running.begin(), running.end(),
                                      [&](const Process& one) { return one.pid == block.pid; });
    const bool runs = process != running.end();
    if (runs && !is_long_enough(block, process->step, now)) continue;
    block.over = ended = true;
    block.end = now;
    if (runs) *process->ops_switch = usual;
  }
  return ended;
}

std::string OpsBlocks::text() const {
  std::string text;
  for (const Block& block : blocks_) {
    if (!text.empty()) text += ' ';
    text += std::to_string(block.rank) + ":" + std::to_string(to_ns(block.begin)) + "-";
    if (block.over) text += std::to_string(to_ns(block.end));
  }
  return text;
}

}  // namespace stepscope
