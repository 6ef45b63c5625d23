#include "analyzer/import/import.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/foreign_format.h"
#include "analyzer/import/kineto.h"
#include "analyzer/import/nsys.h"
#include "store/counted.h"
#include "store/database_file.h"
#include "store/limits.h"
#include "store/remove_on_signal.h"
#include "store/sqlite.h"
#include "store/store_path.h"
#include "store/text_lines.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// A store under construction, next to its final place; removed again unless it is kept.
class DraftStore {
 public:
  explicit DraftStore(const fs::path& target) : target_(target), path_(path_beside(target)) {}
  ~DraftStore() {
    writer_.reset();
    std::error_code ignored;
    for (const std::string& file : files()) {
      fs::remove(file, ignored);
      keep_on_signal(file);
    }
  }
  DraftStore(const DraftStore&) = delete;
  DraftStore& operator=(const DraftStore&) = delete;

  Status create() {
    if (Status status = check_path(target_); !status.ok()) return status;
    for (const std::string& file : files()) remove_on_signal(file);
    Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::create(path_);
    if (!writer.ok()) return with_target(writer.status());
    writer_ = *std::move(writer);
    return {};
  }
  Status keep() {
    if (Status status = writer_->finish(); !status.ok()) return status;
    writer_.reset();
    return move_store(path_, target_);
  }
  TraceWriter& writer() { return *writer_; }
  [[nodiscard]] fs::path folder() const {
    return target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  }

 private:
  // Every name that a store may have leaves room for the suffix and for SQLite's side files.
  static fs::path path_beside(const fs::path& target) {
    constexpr std::size_t kKept = 200;
    const std::string name = target.filename().native().substr(0, kKept);
    fs::path path = target;
    return path.replace_filename(name + ".importing-" + std::to_string(::getpid()));
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> files{path_.native()};
    for (const char* suffix : kSideFileSuffixes) files.push_back(path_.native() + suffix);
    return files;
  }
  // Nobody knows the name of the draft.
  [[nodiscard]] Status with_target(const Status& status) const {
    const std::string& message = status.message();
    const std::string& draft = path_.native();
    if (!message.starts_with(draft)) return status;
    return Status::error(status.kind(), target_.string() + message.substr(draft.size()));
  }

  const fs::path target_;
  const fs::path path_;
  std::unique_ptr<TraceWriter> writer_;
};

std::int64_t size_of(const fs::path& path) {
  std::error_code code;
  const bool regular = fs::is_regular_file(path, code);
  const std::uintmax_t size = regular ? fs::file_size(path, code) : 0;
  return code ? 0 : static_cast<std::int64_t>(size);
}

// Looks for the table of strings, which an export always has, whatever was traced.
bool has_nsys_tables(const fs::path& path) {
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READONLY);
  if (!database.ok()) return false;
  const auto tables =
      database->query_int("SELECT count(*) FROM sqlite_schema WHERE name = 'StringIds'");
  return tables.ok() && *tables > 0;
}

// `ranges`: those whose name matches the pattern.
Status no_steps(const fs::path& path, const std::string& pattern, std::int64_t ranges) {
  const std::string quoted = " '" + pattern + "'";
  if (ranges == 0)
    return Status::error(ErrorKind::kUsage, path.string() + ": no NVTX range matches" + quoted);
  return Status::error(ErrorKind::kBadInput,
                       path.string() + ": " +
                           counted(ranges, "NVTX range matches", "NVTX ranges match") + quoted +
                           ", but none has a valid start and end");
}

Status given_twice(const fs::path& path, const fs::path& before) {
  return Status::error(ErrorKind::kUsage, path.string() + ": is the same trace as " +
                                              before.string() +
                                              "; give the trace of each rank once");
}

Status check_files_differ(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto same = [&](const fs::path& other) { return fs::equivalent(other, *file, ignored); };
    const auto before = std::find_if(files.begin(), file, same);
    if (before != file) return given_twice(*file, *before);
  }
  return {};
}

class Import {
 public:
  Import(const std::vector<fs::path>& files, const ImportOptions& options, TraceWriter& writer,
         const fs::path& folder)
      : files_(files), options_(options), writer_(writer), run_(writer, folder) {
    for (const fs::path& file : files) total_ += size_of(file);
  }

  Result<ImportSummary> all();

 private:
  Status read_file(std::size_t number);
  Status read_kineto(const fs::path& path, std::size_t number);
  Status read_nsys(const fs::path& path, std::size_t number);
  // An error if the trace is that of an earlier file, which may be a copy of it.
  Status refuse_again(const fs::path& path, const KinetoHeader& header);
  Status refuse_second_window(const fs::path& path, const KinetoReader& reader);
  Status refuse_rank_twice(const fs::path& path, std::int64_t rank);
  // Decides what to do about a file that was read with this result: an error ends the import;
  // otherwise returns what is wrong with the file, as text.
  Result<std::string> judge(const Status& status, bool useful, const std::string& not_useful);
  bool keep_going(std::int64_t of_this_file) const {
    return !options_.progress || options_.progress(done_ + of_this_file, total_);
  }
  [[nodiscard]] std::int64_t rank_of(const fs::path& path, std::size_t number) const;
  Status write_hosts();
  Status write_meta(Duration first);

  const std::vector<fs::path>& files_;
  const ImportOptions& options_;
  TraceWriter& writer_;
  RunBuilder run_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
  bool wall_clock_ = true;                     // of all files
  std::map<std::int64_t, std::string> hosts_;  // of the ranks whose trace names one
  using TraceKey = std::tuple<std::string, std::string, std::optional<std::int64_t>>;
  std::map<TraceKey, fs::path> traces_;                               // by id, host and rank
  std::map<std::pair<std::string, std::int64_t>, fs::path> windows_;  // by host and pid
  std::map<std::int64_t, fs::path> ranks_;
  ImportSummary summary_;
};

// The rank of a file that does not state it: from its name, else its position among several files
// or, if that is the rank of another one, the lowest free number.
std::int64_t Import::rank_of(const fs::path& path, std::size_t number) const {
  const auto named = [](const fs::path& file) {
    return rank_in_file_name(file.filename().string());
  };
  if (const auto own = named(path)) return *own;
  if (files_.size() < 2) return -1;
  const auto taken = [&](std::int64_t rank) {
    return ranks_.contains(rank) || std::ranges::find(files_, rank, named) != files_.end();
  };
  auto rank = static_cast<std::int64_t>(number);
  if (taken(rank)) rank = 0;
  while (taken(rank)) ++rank;
  return rank;
}

Result<std::string> Import::judge(const Status& status, bool useful,
                                  const std::string& not_useful) {
  if (status.ok() && useful) return std::string();
  if (status.ok()) return Status::error(ErrorKind::kBadInput, not_useful);
  if (!options_.partial || !useful || status.kind() != ErrorKind::kBadInput) return status;
  run_.count_loss("unread");
  return status.message();
}

Status Import::read_nsys(const fs::path& path, std::size_t number) {
  NsysReader reader(run_, path, options_.steps_nvtx);
  const Status status = reader.read([&] { return keep_going(0); });
  Result<std::string> broken =
      judge(status, reader.any_known(),
            path.string() + ": is a database, but not one written by `nsys export --type sqlite`");
  if (!broken.ok()) return broken.status();
  if (!options_.steps_nvtx.empty() && reader.steps() == 0) {
    return no_steps(path, options_.steps_nvtx, reader.step_ranges());
  }
  const std::int64_t rank = rank_of(path, number);
  if (Status finished = reader.finish(rank); !finished.ok()) return finished;
  if (Status twice = refuse_rank_twice(path, rank); !twice.ok()) return twice;
  wall_clock_ = wall_clock_ && reader.has_wall_clock();
  summary_.files.push_back({path, "Nsight Systems", rank, *broken});
  return {};
}

Status Import::refuse_again(const fs::path& path, const KinetoHeader& header) {
  if (header.trace_id.empty()) return {};
  const auto [known, is_new] =
      traces_.try_emplace({header.trace_id, header.host, header.rank}, path);
  return is_new ? Status() : given_twice(path, known->second);
}

// Two traces of one process are windows of it, not ranks.
Status Import::refuse_second_window(const fs::path& path, const KinetoReader& reader) {
  const std::string& host = reader.header().host;
  const bool is_rank = reader.header().rank || rank_in_file_name(path.filename().string());
  if (is_rank || host.empty() || reader.pid() == 0) return {};
  const auto [known, is_new] = windows_.try_emplace({host, reader.pid()}, path);
  if (is_new) return {};
  return Status::error(ErrorKind::kUsage, path.string() + ": is of the same process as " +
                                              known->second.string() +
                                              "; import each window of a process by itself");
}

Status Import::refuse_rank_twice(const fs::path& path, std::int64_t rank) {
  if (rank < 0) return {};
  const auto [known, is_new] = ranks_.try_emplace(rank, path);
  if (is_new) return {};
  return Status::error(ErrorKind::kUsage, path.string() + ": is of rank " + std::to_string(rank) +
                                              ", as is " + known->second.string() +
                                              "; give one trace of each rank");
}

Status Import::read_kineto(const fs::path& path, std::size_t number) {
  if (!options_.steps_nvtx.empty()) {
    return Status::error(ErrorKind::kUsage, path.string() +
                                                ": --steps-nvtx is for exports of "
                                                "Nsight Systems; omit it");
  }
  Result<std::unique_ptr<ByteSource>> source = open_bytes(path);
  if (!source.ok()) return source.status();
  KinetoReader reader(run_, path.string());
  Status status = reader.read(**source, [&] { return keep_going((*source)->file_position()); });
  Result<std::string> broken =
      judge(status, reader.any_known(),
            path.string() +
                ": contains no event of the PyTorch profiler; give the file that "
                "export_chrome_trace() wrote");
  if (!broken.ok()) return broken.status();
  if (status = refuse_again(path, reader.header()); !status.ok()) return status;
  if (status = reader.finish(rank_of(path, number)); !status.ok()) return status;
  if (status = refuse_second_window(path, reader); !status.ok()) return status;
  if (status = refuse_rank_twice(path, reader.rank()); !status.ok()) return status;
  wall_clock_ = wall_clock_ && reader.has_wall_clock();
  if (const std::string& host = reader.header().host; !host.empty()) hosts_[reader.rank()] = host;
  summary_.python_functions += reader.python_functions();
  summary_.incomplete += reader.incomplete();
  summary_.files.push_back(
      {path, reader.dialect(), reader.rank(), *broken, reader.header().exported});
  return {};
}

Status Import::read_file(std::size_t number) {
  const fs::path& path = files_[number];
  if (const std::string_view what = foreign_format(path); !what.empty()) {
    return Status::error(ErrorKind::kBadInput, path.string() + ": is " + std::string(what));
  }
  Status status = is_database(path) ? read_nsys(path, number) : read_kineto(path, number);
  done_ += size_of(path);
  return status;
}

// `host` is the machine of the whole run.
Status Import::write_hosts() {
  if (hosts_.empty()) return {};
  const std::string& first = hosts_.begin()->second;
  const bool one = std::ranges::all_of(hosts_, [&](const auto& of) { return of.second == first; });
  if (one) return writer_.set_meta("host", first);
  std::vector<std::string> lines;
  for (const auto& [rank, host] : hosts_) lines.push_back(std::to_string(rank) + ":" + host);
  return writer_.set_meta("rank_hosts", join_lines(lines));
}

Status Import::write_meta(Duration first) {
  std::string from;
  std::string problems;
  for (const ImportedFile& file : summary_.files) {
    from += (from.empty() ? "" : "; ") + file.path.filename().string() + " (" + file.format + ")";
    if (!file.broken.empty()) problems += (problems.empty() ? "" : "; ") + file.broken;
  }
  Status status = writer_.set_meta("imported_from", from);
  if (status.ok() && !problems.empty()) status = writer_.set_meta("recording_stopped", problems);
  if (status.ok()) status = write_hosts();
  if (status.ok() && wall_clock_ && first >= Duration(0) && first.count() <= kLatestUnixNs) {
    status = writer_.set_meta("wall_start_unix_ns", std::to_string(first.count()));
  }
  if (status.ok()) status = writer_.set_meta("end_ns", std::to_string(run_.length().count()));
  return status;
}

Result<ImportSummary> Import::all() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (Status status = read_file(i); !status.ok()) return status;
  }
  if (run_.empty()) {
    return Status::error(ErrorKind::kBadInput, files_.front().string() +
                                                   ": contains no op, kernel or "
                                                   "call with a usable time");
  }
  const auto cancelled = [this] { return !keep_going(0); };
  const Result<Duration> first = run_.write(cancelled);
  if (!first.ok()) return first.status();
  if (Status status = write_meta(*first); !status.ok()) return status;
  summary_.counts = run_.counts();
  summary_.lost = run_.lost();
  return std::move(summary_);
}

}  // namespace

bool is_trace(const fs::path& path) {
  constexpr std::string_view kGzip = "\x1f\x8b", kByteOrderMark = "\xef\xbb\xbf";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const Result<std::string> head = first_bytes(path, 64);
  if (!head.ok()) return false;
  if (head->starts_with(kGzip)) return true;
  if (head->starts_with(kDatabaseMagic)) return has_nsys_tables(path);
  std::string_view text = *head;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

Result<ImportSummary> import_traces(const std::vector<fs::path>& files, const fs::path& output,
                                    const ImportOptions& options) {
  for (const fs::path& file : files) {
    std::error_code ignored;
    if (fs::equivalent(file, output, ignored)) {
      return Status::error(ErrorKind::kUsage, output.string() + " is both input and output");
    }
  }
  if (Status status = check_files_differ(files); !status.ok()) return status;
  DraftStore draft(output);
  if (Status status = draft.create(); !status.ok()) return status;
  Result<ImportSummary> summary = Import(files, options, draft.writer(), draft.folder()).all();
  if (!summary.ok()) return summary;
  if (Status status = draft.keep(); !status.ok()) return status;
  return summary;
}

}  // namespace stepscope
