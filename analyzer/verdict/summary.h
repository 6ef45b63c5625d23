// Figures over the steps of a loop: means, percentiles, shares.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Nearest-rank percentiles. Zeros for no steps.
WallStats wall_stats(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);

// Ratio of sums over the chosen steps.
Shares exposed_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);
Shares hidden_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);
PhaseMeans phase_means(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen);

// Where the time of an inference call goes: means over the analysed calls, ns. They sum to the
// mean call.
struct CallMeans {
  double input = 0;
  double model = 0;  // ops, and the code between them
  // Labelled by the program: a tokenizer. Those with the most time, at most kMaxCallScopes.
  std::map<std::string, double> scopes;
  double other = 0;  // all other scopes too
};
inline constexpr std::size_t kMaxCallScopes = 20;  // a program may name each scope differently
CallMeans call_means(const LoopReport& report);

// The scopes of the loop's thread, `phases` as for input_use(). A scope inside another with the
// same name is not counted.
std::vector<ScopeRow> scope_rows(const std::vector<Phase>& phases, const std::vector<Step>& steps,
                                 const std::vector<std::size_t>& chosen,
                                 const std::function<std::string_view(StringId)>& text);

// The waits of `phases` (the loop thread's) that began in a chosen step. Nested waits count once.
InputUse input_use(const std::vector<Phase>& phases, const std::vector<Step>& steps,
                   const std::vector<std::size_t>& chosen,
                   const std::function<std::string_view(StringId)>& text);

// The same for waits that were inferred.
InputUse inferred_use(const InferredInput& input, const std::vector<Step>& steps,
                      const std::vector<std::size_t>& chosen);

// Whether `time` lies in one of the analysed steps.
bool in_analysed_step(const LoopReport& report, SessionTime time);

// Exposed time of one step.
std::int64_t exposed_ns(const Step& step, Category category);

}  // namespace stepscope
