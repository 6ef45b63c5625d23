// RunServer in a build without cpp-httplib.
#include "viewer-export/serve/run_server.h"

namespace stepscope {

bool can_serve_runs() { return false; }

Result<std::unique_ptr<RunServer>> RunServer::start(Content, int) {
  return Status::error(ErrorKind::kUnavailable,
                       "this build has no HTTP server; install libcpp-httplib-dev and build again "
                       "(`stepscope report` and `stepscope export` write the same as files)");
}

}  // namespace stepscope
