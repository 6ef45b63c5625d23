#include "profiler/session/window.h"

#include <algorithm>

namespace stepscope {
namespace {

bool schedule_wants(const RecordPlan& plan, std::int64_t step) {
  const std::int64_t cycle = plan.wait + plan.warmup + plan.active;
  const std::int64_t before = step - 1;
  if (plan.repeat > 0 && before / cycle >= plan.repeat) return false;
  return before % cycle >= plan.wait + plan.warmup;
}

}  // namespace

bool ops_wanted(const RecordPlan& plan, OpsSwitch on_demand, std::int64_t step) {
  if (on_demand != OpsSwitch::kPlan) return on_demand == OpsSwitch::kOn;
  if (plan.phases_only != 0) return false;
  const std::int64_t now = std::max<std::int64_t>(step, 1);
  if (plan.active > 0 && !schedule_wants(plan, now)) return false;
  return plan.first_step <= now && (plan.last_step == 0 || now <= plan.last_step);
}

}  // namespace stepscope
