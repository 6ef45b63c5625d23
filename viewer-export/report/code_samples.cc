#include "viewer-export/report/code_samples.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "viewer-export/report/report.h"
#include "viewer-export/report/source_excerpts.h"
#include "viewer-export/report/stack_tree.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxExcerpts = 50;  // of the lines with most samples

// The loops by the watched threads that they run on.
std::map<WatchedThreadId, LoopMoments> moments_of_loops(
    const TraceReader& reader, const std::vector<StoredWatchedThread>& watched,
    const std::vector<ReportLoop>& loops, const std::vector<Phase>& phases) {
  std::map<ProcessId, std::int64_t> pid_of;
  for (const StoredProcess& process : reader.processes()) pid_of[process.id] = process.pid;
  std::map<ThreadId, std::int64_t> tid_of;
  for (const StoredThread& thread : reader.threads()) tid_of[thread.id] = thread.tid;
  std::map<WatchedThreadId, LoopMoments> moments;
  for (const ReportLoop& loop : loops) {
    for (const StoredWatchedThread& thread : watched) {
      if (thread.process == loop.process && thread.pid == pid_of[loop.process] &&
          thread.tid == tid_of[loop.thread]) {
        moments.try_emplace(thread.id, loop, phases);
      }
    }
  }
  return moments;
}

Json threads_json(const std::vector<StoredWatchedThread>& watched,
                  const std::map<WatchedThreadId, LoopMoments>& loops, const StackTree& tree,
                  ReportNames& names) {
  const auto samples = tree.samples_by_thread();
  Json threads = Json::array();
  for (const StoredWatchedThread& thread : watched) {
    const auto own = samples.find(thread.id);
    if (own == samples.end()) continue;
    threads.push_back({{"process", static_cast<std::int64_t>(thread.process)},
                       {"pid", thread.pid},
                       {"tid", thread.tid},
                       {"name", names.number(thread.name)},
                       {"loop", loops.contains(thread.id)},
                       {"samples", own->second}});
  }
  return threads;
}

Json frames_json(const StackTree& tree, ReportNames& names) {
  Json caller = Json::array(), function = Json::array(), file = Json::array(), line = Json::array();
  for (const StackNode& node : tree.nodes()) {
    caller.push_back(node.caller == StackNode::kNoCaller ? -1
                                                         : static_cast<std::int64_t>(node.caller));
    function.push_back(names.number(node.function));
    file.push_back(node.file == StringId::kNone ? -1 : names.number(node.file));
    line.push_back(node.line);
  }
  return {{"caller", caller}, {"function", function}, {"file", file}, {"line", line}};
}

// Threads are numbered as in threads_json(). Samples whose frame was pruned have frame -1.
Json groups_json(const StackTree& tree) {
  std::map<WatchedThreadId, std::size_t> number_of;
  for (const auto& [thread, samples] : tree.samples_by_thread())
    number_of.try_emplace(thread, number_of.size());
  Json groups = Json::array();
  for (const auto& [group, counts] : tree.groups()) {
    const std::map<std::size_t, std::int64_t> ordered(counts.begin(), counts.end());
    Json frame = Json::array(), samples = Json::array();
    for (const auto& [node, count] : ordered) {
      frame.push_back(node == StackNode::kNoCaller ? -1 : static_cast<std::int64_t>(node));
      samples.push_back(count);
    }
    groups.push_back({{"thread", number_of[group.thread]},
                      {"moment", moment_name(group.moment)},
                      {"blocked", group.blocked},
                      {"frame", frame},
                      {"samples", samples}});
  }
  return groups;
}

// The lines that the analysis names, and those with the most samples: as innermost line, or with
// what they called.
std::vector<SourceLine> lines_to_show(const TraceReader& reader, const Analysis& analysis,
                                      const StackTree& tree) {
  std::vector<SourceLine> wanted;
  for (const LineShare& line : analysis.lines) wanted.push_back({line.file, line.line});
  using Line = std::pair<StringId, std::int64_t>;
  std::map<Line, std::int64_t> own, all;
  const std::vector<std::int64_t> totals = tree.totals();
  std::vector<std::int64_t> below(totals.size());
  for (std::size_t i = totals.size(); i-- > 0;) {
    const StackNode& node = tree.nodes()[i];
    if (node.file == StringId::kNone) continue;  // its samples are its caller's
    all[{node.file, node.line}] += totals[i];
    own[{node.file, node.line}] += totals[i] - below[i];
    if (node.caller != StackNode::kNoCaller) below[node.caller] += totals[i];
  }
  for (const auto* counts : {&own, &all}) {
    std::vector<std::pair<std::int64_t, Line>> order;
    for (const auto& [line, count] : *counts) order.emplace_back(-count, line);
    std::ranges::sort(order);
    if (order.size() > kMaxExcerpts) order.resize(kMaxExcerpts);
    for (const auto& [count, line] : order) {
      wanted.push_back({std::string(reader.text(line.first)), line.second});
    }
  }
  return wanted;
}

}  // namespace

Result<Json> code_samples_json(const TraceReader& reader, const Analysis& analysis,
                               const std::vector<ReportLoop>& loops,
                               const std::vector<Phase>& phases, ReportNames& names) {
  const auto watched = reader.watched_threads();
  if (!watched.ok()) return watched.status();
  const auto frames = reader.frames();
  if (!frames.ok()) return frames.status();
  auto moments = moments_of_loops(reader, *watched, loops, phases);
  StackTree tree(reader, *frames);
  std::int64_t count = 0;
  const Status status = reader.for_each_stack_sample([&](const StackSample& sample) {
    ++count;
    const auto loop = moments.find(sample.thread);
    tree.add(sample, loop != moments.end() ? loop->second.at(sample.at)
                     : sample.awaited      ? SampleMoment::kAwaited
                                           : SampleMoment::kNotAwaited);
  });
  if (!status.ok()) return status;
  if (count == 0) return Json(nullptr);
  tree.prune(kReportThreads, kReportLeastShare, kReportFrames);

  const StackTree::LeftOut& left_out = tree.left_out();
  Json json = {{"samples", count}};
  json["threads"] = threads_json(*watched, moments, tree, names);
  json["frames"] = frames_json(tree, names);
  json["groups"] = groups_json(tree);
  json["left_out"] = {
      {"threads", left_out.threads}, {"frames", left_out.nodes}, {"least", left_out.least}};
  json["sources"] =
      source_excerpts(lines_to_show(reader, analysis, tree),
                      reader.meta_int("wall_start_unix_ns", 0), ExcerptLimits(), names);
  json["folder"] = reader.meta("working_folder").value_or("");
  return json;
}

}  // namespace stepscope
