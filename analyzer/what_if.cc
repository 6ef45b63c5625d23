#include "analyzer/what_if.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/advise/context.h"
#include "analyzer/advise/line_speedup.h"
#include "analyzer/lines/own_code.h"
#include "analyzer/printable.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr int kMaxWorkersAsked = 64;
constexpr double kRemoved = 1e9;                   // times as fast
constexpr std::size_t kLongestCompared = 128;      // bytes of a name
constexpr double kSlowest = 1e-3, kFastest = 1e6;  // times as fast; beyond, nobody has a question

Status wrong(std::string message) { return Status::error(ErrorKind::kUsage, std::move(message)); }

// The Levenshtein distance of their beginnings, computed with a single row.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestCompared);
  b = b.substr(0, kLongestCompared);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

struct NamedChange {
  std::string name;
  double factor = 1;  // of its time
};

// "aten::conv2d=2x", "aten::conv2d=0"; names may hold "=".
Result<NamedChange> parse_change(const char* option, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  double times = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), times);
  const std::string_view rest(end, static_cast<std::size_t>(value.data() + value.size() - end));
  const bool removed = error == std::errc() && times == 0 && rest.empty();
  const bool faster = error == std::errc() && times > 0 && (rest == "x" || rest == "×");
  if (equals == 0 || (!removed && !faster)) {
    return wrong(option + (" " + text) +
                 ": not a change; write NAME=2x for twice as fast, NAME=0 to remove it");
  }
  if (faster && (times < kSlowest || times > kFastest)) {
    return wrong(option + (" " + text) +
                 ": choose a factor from 0.001x to 1000000x, or NAME=0 to remove it");
  }
  return NamedChange{text.substr(0, equals), removed ? 0 : 1 / times};
}

// Answers one question about one loop.
class Asker {
 public:
  Asker(const RecordedRun& recording, LoopReport loop)
      : recording_(recording),
        loop_(std::move(loop)),
        context_{loop_, *loop_.predictor, recording} {
    for (const Phase& phase : phases_of(recording, loop_.verdict.thread))
      if (phase.kind == PhaseKind::kScope) scopes_.push_back(phase);
  }

  Result<WhatIfAnswer> answer(const WhatIfQuestion& question) {
    if (!question.line.empty()) return answer_line(question);
    for (const std::string& op : question.ops) {
      if (Status status = add_op(op); !status.ok()) return status;
    }
    for (const std::string& input : question.input) {
      if (Status status = add_input(input); !status.ok()) return status;
    }
    if (Status status = add_switches(question); !status.ok()) return status;
    if (changes_.empty()) {
      return wrong(
          "nothing to change: give --op, --input, --copies, --sync, --launch or "
          "--line");
    }
    // Workers come last: they take over the waits as the other changes leave them.
    if (workers_ > 0) {
      changes_.push_back([this, cost = hand_over(context_)](StepGraph& graph) {
        input_on_workers(graph, workers_, cost, context_.report.input.inferred);
      });
    }
    WhatIfAnswer result;
    result.baseline = loop_.predictor->baseline();
    result.predicted = loop_.predictor->predict([this](StepGraph& graph) {
      for (const Change& change : changes_) change(graph);
    });
    const bool only_input = question.ops.empty() && question.launch.empty() &&
                            question.copies.empty() && question.sync.empty();
    if (only_input) limit_by_input(result.predicted);
    limit_by_cores(result.predicted);
    result.notes = std::move(notes_);
    result.loop = std::move(loop_);
    result.thread_sets_time = result.loop.device == DeviceId::kNone;
    return result;
  }

 private:
  // The shares of the line `name` ("data.py:41", or with more of its path), in each place and
  // category. Functions that begin within a line, such as generator expressions, count with it.
  [[nodiscard]] Result<std::vector<LineShare>> find_line(const std::string& name) const {
    if (loop_.lines.empty())
      return wrong("--line " + name + ": no lines were recorded in these steps");
    std::string nearest, file;
    std::vector<LineShare> found;
    for (const LineShare& line : loop_.lines) {
      const std::string path = "/" + line.file + ":" + std::to_string(line.line);
      if (path.ends_with("/" + name) && (found.empty() || line.file == file)) {
        file = line.file;
        add_to(found, line);
      }
      if (nearest.empty() && !is_library_file(line.file)) nearest = place_of(line);
    }
    if (!found.empty()) return found;
    return wrong("--line " + name +
                 ": no sample of these steps is on this line; the most time is spent at " +
                 printable(nearest));
  }

  [[nodiscard]] std::string place_of(const LineShare& line) const {
    return display_file(line.file, recording_.facts.working_folder) + ":" +
           std::to_string(line.line);
  }

  static void add_to(std::vector<LineShare>& found, const LineShare& line) {
    const auto same = std::ranges::find_if(found, [&](const LineShare& known) {
      return known.place == line.place && known.category == line.category;
    });
    if (same == found.end()) return found.push_back(line);
    same->samples += line.samples;
    same->share = std::min(same->share + line.share, 1.0);
    same->ci_low = std::min(same->ci_low + line.ci_low, 1.0);
    same->ci_high = std::min(same->ci_high + line.ci_high, 1.0);
  }

  // Nothing is replayed: samples divide the steps as recorded.
  Result<WhatIfAnswer> answer_line(const WhatIfQuestion& question) {
    const bool alone = question.ops.empty() && question.input.empty() && question.copies.empty() &&
                       question.sync.empty() && question.launch.empty();
    if (!alone) return wrong("--line " + question.line + ": cannot be combined with other changes");
    const auto change = parse_change("--line", question.line);
    if (!change.ok()) return change.status();
    const auto lines = find_line(change->name);
    if (!lines.ok()) return lines.status();
    const double factor = change->factor > 0 ? 1 / change->factor : kRemoved;
    WhatIfAnswer result;
    result.replayed = false;
    result.baseline.step_ns = context_.step_ns();
    for (std::size_t i = 0; i < result.baseline.exposed.size(); ++i)
      result.baseline.exposed[i] = context_.share(static_cast<Category>(i)) * context_.step_ns();
    result.predicted = result.baseline;
    result.predicted.ci95 = {context_.step_ns(), context_.step_ns()};
    for (const LineShare& line : *lines) {
      if (Status status = shorten(result.predicted, line, factor); !status.ok())
        return wrong("--line " + question.line + ": " + status.message());
      result.notes.push_back({.line = line, .place = place_of(line)});
    }
    result.loop = std::move(loop_);
    return result;
  }

  Status shorten(Prediction& predicted, const LineShare& line, double factor) const {
    const auto saved = [&](double share) {
      const auto step = step_with_faster(context_, line.place, line.category, share, factor);
      return step ? std::optional(context_.step_ns() - *step) : std::nullopt;
    };
    const auto usual = saved(line.share), most = saved(line.ci_high), least = saved(line.ci_low);
    if (!usual || !most || !least)
      return wrong("nothing can be predicted; most steps do not wait for the workers");
    predicted.step_ns = std::max(predicted.step_ns - *usual, 0.0);
    predicted.ci95.low = std::max(predicted.ci95.low - *most, 0.0);
    predicted.ci95.high = std::max(predicted.ci95.high - *least, 0.0);
    const Category category = line.category == "input"  ? Category::kInput
                              : line.category == "host" ? Category::kHost
                                                        : Category::kCompute;
    double& exposed = predicted.exposed[static_cast<std::size_t>(category)];
    exposed = std::max(exposed - *usual, 0.0);
    return {};
  }

  // All names of ops and scopes that a question may use.
  [[nodiscard]] std::set<std::string_view> names() const {
    std::set<std::string_view> result;
    const OpPaths& paths = loop_.predictor->paths();
    for (std::size_t i = 1; i < paths.size(); ++i)
      result.insert(recording_.text(paths.name(static_cast<OpPath>(i))));
    for (const Task& task : loop_.predictor->graph().tasks) {
      if (task.label != StringId::kNone) result.insert(recording_.text(task.label));
    }
    for (const Phase& phase : scopes_) result.insert(recording_.text(phase.name));
    return result;
  }

  // When the loop's thread was in a scope of this name; apart, in order.
  [[nodiscard]] std::vector<TimeRange> times_in_scope(
      const std::function<bool(StringId)>& matches) const {
    std::vector<TimeRange> times;
    for (const Phase& scope : scopes_) {
      if (!matches(scope.name)) continue;
      const TimeRange time{scope.start, scope.start + scope.dur};
      if (!times.empty() && time.start < times.back().end) {  // a scope within one of its name
        times.back().end = std::max(times.back().end, time.end);
      } else {
        times.push_back(time);
      }
    }
    return times;
  }

  [[nodiscard]] Status no_such_op(const std::string& name) const {
    const auto known = names();
    if (known.empty()) {
      return wrong("--op " + name +
                   ": no ops were recorded in these steps; record them with "
                   "`stepscope run`");
    }
    if (name.size() > kLongestCompared) return wrong("--op: no such op ran in these steps");
    const auto nearest =
        std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
          return distance(a, name) < distance(b, name);
        });
    return wrong("--op " + name + ": no such op ran in these steps; the nearest is " +
                 printable(*nearest));
  }

  Status add_op(const std::string& text) {
    const auto op = parse_change("--op", text);
    if (!op.ok()) return op.status();
    if (!names().contains(op->name)) return no_such_op(op->name);
    const auto matches = [this, name = op->name](StringId id) {
      return recording_.text(id) == name;
    };
    const OpPaths& paths = loop_.predictor->paths();
    if (auto times = times_in_scope(matches); !times.empty()) {
      scale_scope(std::move(times), op->factor);
      return {};
    }
    const PathFlags inside = paths_inside(paths, matches);
    if (op->factor > 0) {
      changes_.push_back(
          [inside, factor = op->factor](StepGraph& graph) { scale_ops(graph, inside, factor); });
    } else {
      const PathFlags backward = backward_of(loop_.predictor->graph(), paths, inside,
                                             [this](StringId id) { return recording_.text(id); });
      changes_.push_back([inside, backward](StepGraph& graph) {
        remove_ops(graph, inside);
        remove_ops(graph, backward);
      });
    }
    // Ranges of the PyTorch profiler are ops, but the time between the ops in them has a label
    // only.
    changes_.push_back(
        [matches, factor = op->factor](StepGraph& graph) { scale_scopes(graph, matches, factor); });
    return {};
  }

  void scale_scope(std::vector<TimeRange> times, double factor) {
    const StepGraph& graph = loop_.predictor->graph();
    const OpPaths& paths = loop_.predictor->paths();
    const PathFlags backward =
        factor > 0 ? PathFlags()
                   : backward_of(graph, paths, paths_only_at(graph, paths, times),
                                 [this](StringId id) { return recording_.text(id); });
    changes_.push_back([times = std::move(times), backward, factor](StepGraph& changed) {
      scale_times(changed, times, factor);
      if (factor == 0) remove_ops(changed, backward);
    });
  }

  Status add_input(const std::string& text) {
    constexpr std::string_view kWorkers = "workers=";
    if (loop_.input.waits == 0)
      return wrong("--input " + text + ": these steps have no wait for input");
    if (text == "cached") {
      const auto collating = paths_inside(loop_.predictor->paths(), [this](StringId name) {
        return collates(recording_.text(name));
      });
      changes_.push_back([this, collating](StepGraph& graph) {
        cache_input(graph, collating, context_.busy_share());
      });
      return {};
    }
    if (text == "prefetched") {
      workers_ = std::max(workers_, 1);
    } else if (text.starts_with(kWorkers)) {
      const char* const begin = text.data() + kWorkers.size();
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(begin, end, workers_);
      if (error != std::errc() || stop != end || workers_ < 1 || workers_ > kMaxWorkersAsked)
        return wrong("--input " + text + ": give 1 to 64 workers");
    } else {
      return wrong("--input " + text + ": write prefetched, cached or workers=4");
    }
    changes_.emplace_back([](StepGraph&) {});
    return {};
  }

  Status add_switches(const WhatIfQuestion& question) {
    struct Switch {
      const char* option;
      const std::string& value;
      const char* known;
      bool needs_device;
      void (*change)(StepGraph&);
    };
    for (const Switch& each :
         {Switch{"--launch", question.launch, "graphs", false, launch_as_graph},
          Switch{"--copies", question.copies, "pinned", true, pin_copies},
          Switch{"--sync", question.sync, "removed", true, remove_syncs}}) {
      if (each.value.empty()) continue;
      const std::string given = std::string(each.option) + " " + each.value;
      if (each.value != each.known) return wrong(given + ": write " + each.known);
      if (each.needs_device && loop_.predictor->graph().streams.empty())
        return wrong(given + ": no device was recorded in this run");
      changes_.emplace_back(each.change);
    }
    return {};
  }

  static void scale_scopes(StepGraph& graph, const std::function<bool(StringId)>& matches,
                           double factor) {
    for (Task& task : graph.tasks) {
      if (task.path == OpPath::kTop && task.label != StringId::kNone && matches(task.label))
        task.dur_ns = scaled(task.dur_ns, factor);
    }
  }

  // A change of the input saves at most the time that the report calls input. With a device, the
  // report's input is the device's idle time, not the wait of the loop's thread.
  void limit_by_input(Prediction& predicted) const {
    if (loop_.device != DeviceId::kNone) return;
    const double least =
        workers_ > 0 ? least_step_with_workers(context_).by_loop : context_.rest_ns();
    if (predicted.step_ns < least) raise_to(predicted, least, least);
  }

  // `lowest`: of the interval.
  static void raise_to(Prediction& predicted, double least, double lowest) {
    // The batches come that much later.
    predicted.exposed[static_cast<std::size_t>(Category::kInput)] += least - predicted.step_ns;
    predicted.step_ns = least;
    predicted.ci95 = {std::max(predicted.ci95.low, lowest), std::max(predicted.ci95.high, least)};
  }

  // Workers share the cores with the training.
  void limit_by_cores(Prediction& predicted) {
    if (workers_ == 0) return;
    const auto [least, with_all_cores, by_loop] = least_step_with_workers(context_);
    if (predicted.step_ns >= least) return;
    raise_to(predicted, least, with_all_cores);
    notes_.push_back({.cores = context_.cores(),
                      .cores_left = context_.cores_left_by_others(),
                      .least_ns = least});
  }

  const RecordedRun& recording_;
  LoopReport loop_;
  AdviceContext context_;
  std::vector<Phase> scopes_;  // of the loop's thread, by start
  std::vector<Change> changes_;
  int workers_ = 0;
  std::vector<WhatIfNote> notes_;
};

}  // namespace

AnalyzeOptions what_if_options(const WhatIfQuestion& question) {
  AnalyzeOptions options;
  options.steps = question.steps;
  options.with_warm_up = question.steps.has_value();
  options.keep_predictor = true;
  return options;
}

Result<WhatIfAnswer> answer_what_if(const RecordedRun& recording, LoopReport loop,
                                    const WhatIfQuestion& question) {
  return Asker(recording, std::move(loop)).answer(question);
}

}  // namespace stepscope
