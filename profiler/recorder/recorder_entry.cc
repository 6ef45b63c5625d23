// The entries of libstepscope_recorder.so (session/recorder_library.h).
#include "profiler/recorder/recorder.h"
#include "stepscope/c_api.h"
#include "store/trace_writer.h"

extern "C" {

STEPSCOPE_API void stepscope_start_recorder(const stepscope::RecorderStart& start,
                                                 stepscope::StartedRecorder& result) {
  auto recorder = stepscope::Recorder::start(start);
  result.status = recorder.status();
  if (recorder.ok()) result.recorder = *std::move(recorder);
}

STEPSCOPE_API void stepscope_install_fork_handlers() {
  stepscope::TraceWriter::install_fork_handlers();
}
}
