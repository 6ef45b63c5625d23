// The words of each rule of advice. Each rule has its own file.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "analyzer/facts/advice.h"
#include "analyzer/report.h"

namespace stepscope {

struct AdviceWords {
  std::string title;      // what to do
  std::string why;        // a sentence without its full stop
  std::string statement;  // the evidence, also without its full stop
};

// `facts` belongs to `advice`, which belongs to `loop`.
AdviceWords words_of(const InputPrefetch& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const InputCache& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const MoreWorkers& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const PersistentWorkers& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const FasterLine& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const FewerTinyOps& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const FusedOptimizer& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const PeriodicStall& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const EvaluationMode& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const GradientsInInference& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const Torchscript& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const SingleSamples& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const SortByLength& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const ReadAtOnce& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const KeepFreedMemory& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const PinnedCopies& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const BlockingSync& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const OpsOnCpu& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const CudnnBenchmark& facts, const AdviceFacts& advice,
                     const LoopReport& loop);
AdviceWords words_of(const IdleGpu& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const FewerThreads& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const RaiseCpuQuota& facts, const AdviceFacts& advice, const LoopReport& loop);
AdviceWords words_of(const SpreadThreads& facts, const AdviceFacts& advice, const LoopReport& loop);

// "DataLoader(…, num_workers=1, persistent_workers=True)", to be pasted into the program. For a
// loader of the Trainer: "TrainingArguments(…, dataloader_num_workers=1,
// dataloader_persistent_workers=True)". `options`: those of DataLoader, each with its value.
std::string loader_with(std::initializer_list<std::string> options, std::string_view loader);

}  // namespace stepscope
