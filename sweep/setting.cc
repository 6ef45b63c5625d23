#include "sweep/setting.h"

namespace stepscope {

const SweepValue& value_of(const SweepPlan& plan, const SweepCell& cell, std::size_t parameter) {
  return plan.parameters[parameter].values[cell.values[parameter]];
}

std::string setting_title(const SweepPlan& plan, const SweepCell& cell) {
  std::string title = plan.variants[cell.variant].name;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    title +=
        (title.empty() ? "" : " ") + plan.parameters[i].name + "=" + value_of(plan, cell, i).text;
  }
  return title.empty() ? "the command" : title;
}

}  // namespace stepscope
