// The entry points of libstepscope_recorder.so (session/recorder_library.h).
#include "profiler/recorder/recorder.h"
#include "stepscope/c_api.h"
#include "store/trace_writer.h"

extern "C" {

STEPSCOPE_API void stepscope_start_recorder(const stepscope::RecorderStart& start,
                                            stepscope::StartedRecorder& result) noexcept {
  std::unique_ptr<stepscope::Recorder> recorder;
  result.status = stepscope::Recorder::start(start, recorder);
  result.recorder = std::move(recorder);
}

STEPSCOPE_API void stepscope_install_fork_handlers() {
  stepscope::TraceWriter::install_fork_handlers();
}
}
