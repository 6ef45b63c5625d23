// Feeds arbitrary bytes to what `stepscope view` does with a connection: collects the head of a
// request, reads it, and answers. Promises: no crash; nothing of the run without the token, a Host
// of the loopback and no foreign Origin; no file from outside of the UI's folder, whatever the
// path; no answer whose head a browser could read as two, and none without its hardening.
#include <strings.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/require.h"
#include "viewer-export/serve/access.h"
#include "viewer-export/serve/request.h"
#include "viewer-export/serve/site.h"
#include "viewer-export/serve/ui_files.h"

namespace {

using namespace stepscope;
namespace fs = std::filesystem;

constexpr char kToken[] = "00112233445566778899aabbccddeeff";
constexpr char kRunData[] = "DATA-OF-THE-RUN";
constexpr char kUiData[] = "FILE-OF-THE-UI";
constexpr char kOutside[] = "FILE-FROM-OUTSIDE";

using stepscope::fuzz::require;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void write(const fs::path& path, const char* text) { std::ofstream(path) << text; }

// A folder with a UI, and beside it what must never be served.
struct Folders {
  Folders() {
    std::string name = (fs::temp_directory_path() / "fuzz-view-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    root = name;
    fs::create_directories(root / "ui" / "v1");
    write(root / "ui" / "index.html", kUiData);
    write(root / "ui" / "v1" / "a b.js", kUiData);
    write(root / "ui" / "service_worker.js", kOutside);
    write(root / "outside", kOutside);
    fs::create_directories(root / "ui2");
    write(root / "ui2" / "index.html", kOutside);
    fs::create_symlink("../outside", root / "ui" / "link");
    fs::create_symlink("..", root / "ui" / "up");
  }
  ~Folders() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  fs::path root;
};

const fs::path& ui_folder() {
  static const Folders folders;
  static const fs::path folder = folders.root / "ui";
  return folder;
}

const Site& site() {
  static const Site made = [] {
    RunServer::Content content;
    content.report = [] { return Result<std::string>(std::string(kRunData)); };
    content.live = [] { return Result<std::string>(std::string(kRunData)); };
    content.trace = [](ByteSink& sink) { return sink.write(kRunData); };
    content.title = "run.db";
    content.ui_folder = ui_folder();
    return Site(std::move(content), kToken);
  }();
  return made;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const std::string digits(text.substr(i + 1, 2));
      result += static_cast<char>(std::strtol(digits.c_str(), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

// The values of a field, in whatever way its name is written; without the blanks around them.
std::vector<std::string> values_of(const std::string& head, const std::string& name) {
  std::vector<std::string> values;
  for (std::size_t line = head.find("\r\n"); line != head.npos; line = head.find("\r\n", line)) {
    line += 2;
    if (::strncasecmp(head.c_str() + line, name.c_str(), name.size()) != 0) continue;
    const std::size_t begin = line + name.size();
    std::string value = head.substr(begin, head.find("\r\n", begin) - begin);
    value.erase(0, value.find_first_not_of(" \t"));
    value.erase(value.find_last_not_of(" \t") + 1);
    values.push_back(value);
  }
  return values;
}

bool is_loopback(const std::string& host) {
  const std::string name = host.substr(0, host.find_last_not_of("0123456789") + 1);
  return host == "127.0.0.1" || host == "localhost" || name == "127.0.0.1:" || name == "localhost:";
}

// Says by other means than read_head() and access.h whether this head has a right to the run.
bool has_the_right(const std::string& head) {
  const auto hosts = values_of(head, "host:"), origins = values_of(head, "origin:");
  const std::string first = head.substr(0, head.find("\r\n"));
  if (!holds(decoded(first), std::string(" /") + kToken + "/")) return false;
  if (hosts.size() != 1 || !is_loopback(hosts[0])) return false;
  if (origins.empty()) return true;
  return origins.size() == 1 && (origins[0].empty() || origins[0] == "http://" + hosts[0]);
}

void check_head(const Answer& answer) {
  const std::string head = head_of(answer);
  require(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n\r\n"), "a head has both ends");
  require(head.find("\r\n\r\n") == head.size() - 4, "an answer has one head");
  std::size_t lines = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto byte = static_cast<unsigned char>(head[i]);
    require(byte >= 0x20 || byte == '\r' || byte == '\n', "a head has no control characters");
    if (byte == '\n') require(i > 0 && head[i - 1] == '\r', "lines of a head end with CR LF");
    if (byte == '\r') require(head[i + 1] == '\n', "CR is at the end of a line alone");
    lines += byte == '\n';
  }
  require(lines == answer.fields.size() + 4, "a field is a line");
  for (const char* field :
       {"Content-Security-Policy: ", "X-Content-Type-Options: nosniff\r\n",
        "Cache-Control: no-store\r\n", "Referrer-Policy: no-referrer\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n", "Connection: close\r\n"}) {
    require(holds(head, field), field);
  }
  require(holds(head, "frame-ancestors 'none'"), "no page of another site frames an answer");
}

std::string all_of(const Answer& answer) {
  StringSink sink;
  if (answer.stream) require(answer.stream(sink).ok(), "a trace can be written");
  return head_of(answer) + answer.body + sink.text();
}

void check_request(const std::string& head) {
  const auto request = read_head(head);
  if (!request) return;
  for (const char c : request->path + request->host + request->origin)
    require(static_cast<unsigned char>(c) >= 0x20 || c == '\t', "what is read holds no controls");
  if (const auto refused = site().refuse(*request)) {
    check_head(*refused);
    const std::string text = all_of(*refused);
    require(refused->status >= 400 && text.size() < 4096, "a refusal fits into a fresh connection");
    require(!holds(text, kToken) && !holds(text, kRunData) && !holds(text, kUiData),
            "a refusal holds nothing of the run");
    return;
  }
  require(has_the_right(head), "who has no right to the run is refused");
  require(request->method == "GET" || request->method == "HEAD", "nothing can be changed");
  const Answer answer = site().answer(*request);
  check_head(answer);
  require(!holds(all_of(answer), kOutside), "only files of the UI are served");
}

// The bytes as the path of a file: what comes behind ui/ goes to the system.
void check_path(const std::string& path) {
  if (const auto file = read_ui_file(ui_folder(), path))
    require(file->text == kUiData, "only files of the UI are read");
  const std::string base = std::string("/") + kToken + "/ui/";
  const Answer answer = site().answer({"GET", base + path, "localhost", ""});
  require(!holds(all_of(answer), kOutside), "only files of the UI are served");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto end = end_of_head(bytes);
  if (end) {
    require(!end_of_head(std::string_view(bytes).substr(0, *end - 1)),
            "a head ends where it is whole");
  }
  check_request(bytes.substr(0, end.value_or(size)));  // also one without its end
  check_path(bytes);
  static_cast<void>(origin_of(bytes));
  require(percent_encoded(bytes).find_first_of("\r\n \"<>#?&") == std::string::npos,
          "what is encoded fits into an address");
  return 0;
}
