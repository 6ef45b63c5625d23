// Serves one run to the browser of its user: the report, the timeline, and the live state of a
// recording. Only on 127.0.0.1, behind a token (access.h); nothing but this run.
//
//   /TOKEN/                 the report
//   /TOKEN/timeline         leads to the trace in the Perfetto UI: the one in Content::ui_folder,
//                           else a page that opens the one at Content::ui_address
//   /TOKEN/trace.json.gz    the trace, generated while it is sent
//   /TOKEN/live.json        the latest frame; only if Content::live is set
//   /TOKEN/ui/…             the files of Content::ui_folder
//
// The content of the pages is passed in as functions, so that this part depends neither on the
// analyzer nor on how a run is opened.
//
// We wrote our own server because it can do less: it reads no bodies, a connection serves one
// request, and a request gets a thread only once it is complete and its token is valid
// (reception.h, site.h). Libraries give each connection a thread, so a handful of slow clients can
// occupy all of them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "store/status.h"
#include "viewer-export/byte_sink.h"

namespace stepscope {

// The Perfetto UI as its makers serve it.
inline constexpr char kPublicUi[] = "https://ui.perfetto.dev";

class RunServer {
 public:
  // All are called on threads of the server, several at a time.
  struct Content {
    std::function<Result<std::string>()> report;  // an HTML page
    std::function<Status(ByteSink&)> trace;       // Chrome trace, gzip; finishes the sink
    std::function<Result<std::string>()> live;    // a JSON document; may be empty
    std::string title;                            // of the trace in the Perfetto UI
    std::filesystem::path ui_folder;              // contains the UI's index.html; may be empty
    std::string ui_address = kPublicUi;           // without a folder: scheme://host[:port]
  };

  // `port`: 0 for any free one. Errors: kIo (the port is in use, no threads), kUsage (`ui_address`
  // is not an address).
  static Result<std::unique_ptr<RunServer>> start(Content content, int port = 0);
  // Does what stop() does.
  virtual ~RunServer() = default;

  // "http://127.0.0.1:40123/TOKEN/"
  [[nodiscard]] virtual const std::string& address() const = 0;
  // Aborts transfers, and returns when all threads have ended: within about a second.
  virtual void stop() = 0;
  // Like stop(), but waits for no longer than this, because a thread may still be generating the
  // page of a large run. False: threads are still using this object, which must not be destroyed.
  bool stop_within(std::chrono::seconds patience);
};

// "https://host:8080/any/path" gives "https://host:8080"; "" for anything else.
std::string origin_of(const std::string& address);

}  // namespace stepscope
