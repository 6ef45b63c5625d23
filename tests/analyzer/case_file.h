// Worked cases as text: a small recording, what is asked about it, and the answer, in one file.
//
//   # What it shows.
//   overhead 2                      leaf_op_overhead_ns
//   cpus 4                          cpu_count
//   windowed                        ops were recorded in some steps only
//   lost op 3
//   process 2 [rank=R] [parent=P]   the lines below are about this process (without: process 1)
//     died signal 9 500 [step=N] [oom]   how, code and time; also exit and replaced
//     sample rss_bytes 100 5000     at 100; a counter of the machine is taken for one
//   thread main                     the lines below are about this thread
//     input 0-40 cpu=39 train       a phase: KIND START-END [cpu=N] [name]; step marks: step 40
//     unfinished 40 aten::mm        begun at 40; outermost first
//     op 40-60 [seq=N] aten::linear also backward-op and user-op; parents before children
//     call 62-64 [corr=N] cudaLaunchKernel   of the CUDA runtime or driver
//   stream 7 [device=D]             the lines below are about this stream of the process (D: 0)
//     kernel 66-90 [corr=N] gemm    corr: as that of the call that launched it
//     copy 92-95 [corr=N] HtoD
//     memset 96-97 [corr=N]
//   show steps verdict deaths       which parts of the answer follow
//   expect
//   ...
#pragma once

#include <string>
#include <vector>

#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {

struct CaseFile {
  std::string path;
  RecordingBuilder builder;
  std::vector<std::string> show;
  std::string expected;
  std::string problem;  // not empty: the file does not parse
};

CaseFile parse_case(const std::string& path);

// The analysis of the recording, the parts that `show` names, as text.
std::string answer(const RecordedRun& recording, const std::vector<std::string>& show);

}  // namespace stepscope::testing
