// What a RunServer answers to whom, without any connection: requests in, answers out.
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
  // Where set, in place of `body`, whose length is known. Does not finish the sink's connection.
  std::function<Status(ByteSink&)> stream;
};

// The status line, the fields and the empty line. Connections serve one request each: nothing of
// one request can be taken for a part of the next.
std::string head_of(const Answer& answer);

// An answer that says `why`; no other program's page may do anything with it.
Answer refusal(int status, std::string_view why);

// Thread safety: all methods may be called from several threads.
class Site {
 public:
  Site(RunServer::Content content, std::string token);

  // Why this request gets nothing of the run, where it does not have the right to it (access.h) or
  // asks for something to be changed. Takes no time: it is asked before anything is done.
  [[nodiscard]] std::optional<Answer> refuse(const Request& request) const;

  // For what refuse() lets pass. May take as long as a page of the run takes to make. Does not
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
