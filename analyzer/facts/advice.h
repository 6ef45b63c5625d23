// What the rules of advice find, as facts: a struct for each rule. present/advice/ puts them into
// words, a file for each rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/facts/evidence.h"
#include "store/analysis.h"

namespace stepscope {

// The comment next to each name says what the figure in AdviceFacts::evidence is. Times are in ns,
// and times and counts are per step, unless said otherwise.

struct InputPrefetch {        // evidence: the time of a batch
  std::vector<double> steps;  // the step with 1, 2, … workers
  std::size_t wanted = 1;     // workers
  double step_ns = 0;         // as measured
  double rest_ns = 0;         // of the step, without the wait for input
  bool works = false;         // the wait is work, which takes cores; else it is spent blocked
  bool fills_cores = false;   // the workers keep all cores busy
  std::int64_t cores = 0;
  bool knows_free_cores = false;  // the prediction considers the cores that training leaves
  bool data_loader = false;       // the loader is PyTorch's
};

struct InputCache {    // evidence: the time that the loop thread works during the waits
  bool drawn = false;  // random numbers are drawn for the samples, anew in each epoch
};

struct MoreWorkers {  // evidence: the time that the loop waits for its workers
  int workers = 0;    // as measured
  int wanted = 0;
  double batch_ns = 0;  // that each worker takes for a batch
};

struct PersistentWorkers {  // evidence: by how much the first batches of epochs take longer
  std::int64_t epochs = 0;
  int workers = 1;
  double usual_ns = 0;  // the wait for as many other batches in a row as there are workers
};

enum class LineTime : std::uint8_t { kBatch, kInputWait, kBetweenPhases };

struct FasterLine {      // evidence: the line's share of that time
  std::string place;     // "data.py:41"
  std::string function;  // "": this is about the line alone
  std::string inside;    // what it mostly called in libraries; "": nothing
  std::string blocked;   // what it was mostly blocked in; "": it ran
  LineTime of = LineTime::kBatch;
};

enum class NoScript : std::uint8_t { kNone, kOpsDiffer, kShapesChange };

struct FewerTinyOps {  // evidence: the framework's overhead
  std::int64_t ops = 0;
  bool on_device = false;
  NoScript no_script = NoScript::kNone;  // why tracing with TorchScript would not help
};

struct FusedOptimizer {   // evidence: the optimizer's ops
  std::string optimizer;  // the class, if it takes fused=True; else ""
};

struct PeriodicStall {         // evidence: the mean of the slow steps
  std::size_t population = 0;  // the kind of step that costs most: index in LoopReport::populations
};

struct EvaluationMode {     // evidence: calls of dropout, or of batch norm, in the run
  bool dropped = false;     // dropout drops activations
  bool normalised = false;  // batch norm takes its statistics from the batch
};

struct GradientsInInference {};  // evidence: autograd nodes

struct Torchscript {     // evidence: the share of calls with the most frequent sequence of ops
  double gap_share = 0;  // of a call: the time between its ops
};

struct SingleSamples {   // evidence: one sample a call
  bool marked = false;   // the program marked it
  bool unequal = false;  // their lengths differ so much that they should be sorted
};

struct SortByLength {      // evidence: the share of padding
  double bucketed_ns = 0;  // per call, if sorted only within some batches
};

struct ReadAtOnce {  // evidence: calls of item()
  bool on_device = false;
};

struct KeepFreedMemory {};  // evidence: page faults

struct PinnedCopies {  // evidence: copies
  double bytes = 0;
};

struct BlockingSync {        // evidence: by how much the step would be shorter
  double waiting_reads = 0;  // calls of item() that wait for the device
};

struct OpsOnCpu {  // evidence: the time of this op
  std::string op;
  std::int64_t others = 0;  // number of other such ops
};

enum class CudnnMode : std::uint8_t { kRecordedOff, kTriedNothing, kUnknown };

struct CudnnBenchmark {  // evidence: the share of kernel time in convolutions
  CudnnMode mode = CudnnMode::kUnknown;
};

struct IdleGpu {};  // evidence: how busy the busiest GPU is

// For the following, the evidence is that of Starvation.
struct FewerThreads {
  std::int64_t computing = 0;  // threads that wait for one another
  std::int64_t wanted = 0;
};

struct RaiseCpuQuota {
  double wanted = 0;  // cores
};

struct SpreadThreads {
  bool workers = false;  // workers are tied to few cores
};

using RuleFacts =
    std::variant<InputPrefetch, InputCache, MoreWorkers, PersistentWorkers, FasterLine,
                 FewerTinyOps, FusedOptimizer, PeriodicStall, EvaluationMode, GradientsInInference,
                 Torchscript, SingleSamples, SortByLength, ReadAtOnce, KeepFreedMemory,
                 PinnedCopies, BlockingSync, OpsOnCpu, CudnnBenchmark, IdleGpu, FewerThreads,
                 RaiseCpuQuota, SpreadThreads>;

struct AdviceFacts {
  std::string rule;  // stable id: "input-prefetch"
  RuleFacts facts;
  EvidenceFact evidence;
  std::int64_t predicted_step_ns = 0;
  std::int64_t saves_ns = 0;
  std::optional<LikelyStep> likely = {};  // nullopt: unknown
};

}  // namespace stepscope
