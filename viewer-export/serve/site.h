// The request handling of a RunServer, without connections: requests in, answers out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viewer-export/serve/request.h"
#include "viewer-export/serve/run_server.h"

namespace stepscope {

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  // If set, used instead of `body`, for an answer whose length is not known in advance. Does not
  // finish the sink's connection.
  std::function<Status(ByteSink&)> stream;
};

// The status line, the fields and the empty line. Each connection serves one request: no part of
// one request can be mistaken for a part of the next.
std::string head_of(const Answer& answer);

// An error answer with the text `why`; pages of other sites cannot use it.
Answer refusal(int status, std::string_view why);

// Thread safety: all methods may be called from several threads.
class Site {
 public:
  Site(RunServer::Content content, std::string token);

  // The refusal of a request that is not authorised (access.h) or is not a read; nothing for any
  // other. Fast: called before anything else.
  [[nodiscard]] std::optional<Answer> refuse(const Request& request) const;

  // For requests that refuse() accepts. May take as long as generating a page of the run. Does not
  // throw.
  [[nodiscard]] Answer answer(const Request& request) const;

 private:
  [[nodiscard]] Answer answer_path(std::string_view path, const Request& request) const;
  [[nodiscard]] Answer timeline(const Request& request) const;
  [[nodiscard]] Answer trace() const;
  [[nodiscard]] Answer ui_file(std::string_view path) const;

  const RunServer::Content content_;
  const std::string token_;
};

}  // namespace stepscope
