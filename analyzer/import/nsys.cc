#include "analyzer/import/nsys.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "analyzer/import/decimal.h"
#include "analyzer/import/kineto_names.h"
#include "store/python_range.h"

namespace stepscope {
namespace {

// A process and a thread in one number: 8 bits of hardware and VM, 24 of pid, 24 of tid.
constexpr std::int64_t kIdMask = 0xFFFFFF;
constexpr int kPidShift = 24;

// ENUM_NSYS_EVENT_TYPE.
constexpr std::int64_t kNvtxPushPop = 59;
constexpr std::int64_t kNvtxStartEnd = 60;

// ENUM_CUDA_MEM_KIND numbers them from 0, unlike CUPTI. The last one is "unknown".
constexpr std::array kMemoryKinds{
    MemoryKind::kPageable,      MemoryKind::kPinned,  MemoryKind::kDevice,
    MemoryKind::kArray,         MemoryKind::kManaged, MemoryKind::kDeviceStatic,
    MemoryKind::kManagedStatic,
};

// ENUM_CUDA_MEMCPY_OPER has CUPTI's numbers, and after them those of pages of managed memory that
// move: to the device, to the host, between devices.
constexpr std::array kPageMoves{
    CopyKind::kHostToDevice,
    CopyKind::kDeviceToHost,
    CopyKind::kDeviceToDevice,
};
constexpr std::int64_t kFirstPageMove = 11;

constexpr std::int64_t kRowsBetweenLooks = 1 << 14;

// Times are ns since the session began. None is longer than a month.
constexpr std::int64_t kLatestEpochNs = 4'000'000'000'000'000'000;  // the year 2096
constexpr std::int64_t kLatestNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;

constexpr int kStart = 0, kEnd = 1, kDevice = 2, kContext = 3, kStream = 4, kCorrelation = 5,
              kProcess = 6, kFirstOwn = 7;

std::vector<const char*> with_activity(std::initializer_list<const char*> own) {
  std::vector<const char*> columns = {"start",    "end",           "deviceId", "contextId",
                                      "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), own);
  return columns;
}

template <typename Enum>
Enum enum_of(std::int64_t value, Enum last) {
  return value >= 0 && value <= static_cast<std::int64_t>(last) ? static_cast<Enum>(value) : Enum();
}

template <typename Enum, std::size_t kCount>
Enum entry_of(const std::array<Enum, kCount>& entries, std::int64_t number) {
  return number >= 0 && number < static_cast<std::int64_t>(kCount)
             ? entries[static_cast<std::size_t>(number)]
             : Enum();
}

CopyKind copy_kind(std::int64_t number) {
  return number < kFirstPageMove ? enum_of(number, CopyKind::kPeerToPeer)
                                 : entry_of(kPageMoves, number - kFirstPageMove);
}

std::int32_t small(std::int64_t value) {
  return value >= 0 && value <= std::numeric_limits<std::int32_t>::max()
             ? static_cast<std::int32_t>(value)
             : 0;
}

}  // namespace

NvtxName parse_nvtx_name(std::string_view text) {
  constexpr std::string_view kSequence = ", seq = ";
  constexpr std::string_view kId = ", op_id = ";
  const std::size_t sequence = text.find(kSequence);
  const std::size_t end = std::min({sequence, text.find(kId), text.size()});
  NvtxName name{text.substr(0, end), -1, end < text.size()};
  if (sequence == std::string_view::npos) return name;
  const std::string_view digits = text.substr(sequence + kSequence.size());
  name.sequence = parse_integer(digits.substr(0, digits.find(','))).value_or(-1);
  return name;
}

NsysReader::NsysReader(RunBuilder& run, std::filesystem::path path, std::string steps)
    : run_(run), path_(std::move(path)), steps_(std::move(steps)) {}

// A view of that name is an error: reading it could take forever.
Result<bool> NsysReader::is_table(const char* name) {
  Result<Statement> find = database_.prepare("SELECT type, sql FROM sqlite_schema WHERE name = ?1");
  if (!find.ok()) return find.status();
  find->bind(1, std::string_view(name));
  while (true) {
    const Result<bool> row = find->next();
    if (!row.ok() || !*row) return row;
    if (find->text(0) == "table" && find->text(1).starts_with("CREATE TABLE ")) return true;
    return Status::error(
        ErrorKind::kBadInput,
        path_.string() + ": " + name + " is not a plain table, as `nsys export` writes");
  }
}

Status NsysReader::each(const char* table, const std::vector<const char*>& columns,
                        const Visit& visit) {
  const Result<bool> there = is_table(table);
  if (!there.ok() || !*there) return there.status();
  std::set<std::string> present;
  Result<Statement> info = database_.prepare("SELECT name FROM pragma_table_info(?1)");
  if (!info.ok()) return info.status();
  info->bind(1, std::string_view(table));
  while (true) {
    const Result<bool> row = info->next();
    if (!row.ok()) return row.status();
    if (!*row) break;
    present.insert(info->text(0));
  }
  known_ = true;
  std::string sql;
  for (const char* column : columns) {
    sql += sql.empty() ? "SELECT " : ", ";
    sql += present.contains(column) ? "\"" + std::string(column) + "\"" : "NULL";
  }
  Result<Statement> rows = database_.prepare(sql + " FROM \"" + table + "\"");
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    if (++rows_ % kRowsBetweenLooks == 0 && !keep_going_()) {
      return Status::error(ErrorKind::kIo, path_.string() + ": interrupted");
    }
    if (Status status = visit(*rows); !status.ok()) return status;
  }
}

Status NsysReader::read(const std::function<bool()>& keep_going) {
  keep_going_ = keep_going;
  Result<Database> database = Database::open_untrusted(path_, SQLITE_OPEN_READONLY);
  if (!database.ok()) return database.status();
  database_ = *std::move(database);
  const Result<bool> strings = is_table("StringIds");
  if (!strings.ok()) return strings.status();
  Result<Statement> find = database_.prepare("SELECT value FROM StringIds WHERE id = ?1");
  if (find.ok()) find_string_ = *std::move(find);  // otherwise there are no names
  Status status = read_facts();
  if (status.ok()) status = read_ranges();
  if (status.ok()) status = read_calls();
  if (status.ok()) status = read_kernels();
  if (status.ok()) status = read_graphs();
  if (status.ok()) status = read_copies();
  if (status.ok()) status = read_memsets();
  if (status.ok()) status = read_syncs();
  return status.ok() ? database_.check_whole() : status;
}

Status NsysReader::read_facts() {
  Status status =
      each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [this](const Statement& row) {
        epoch_ns_ = row.integer(0);
        return Status();
      });
  if (!status.ok()) return status;
  return each("TARGET_INFO_GPU",
              {"id", "name", "totalMemory", "computeMajor", "computeMinor", "smCount"},
              [this](const Statement& row) {
                Device device;
                device.number = row.integer(0);
                device.name = row.text(1);
                device.memory_bytes = row.integer(2);
                device.compute_major = row.integer(3);
                device.compute_minor = row.integer(4);
                device.multiprocessors = row.integer(5);
                device_facts_[device.number] = device;
                return Status();
              });
}

Status NsysReader::read_ranges() {
  return each("NVTX_EVENTS", {"start", "end", "text", "textId", "globalTid", "eventType"},
              [this](const Statement& row) { return take_range(row); });
}

Status NsysReader::take_range(const Statement& row) {
  const std::int64_t type = row.integer_or(5, kNvtxPushPop);
  if (row.is_null(1) || (type != kNvtxPushPop && type != kNvtxStartEnd)) return {};  // a mark
  const std::string text = row.is_null(2) ? text_of(row.integer(3)) : row.text(2);
  const bool step = !steps_.empty() && fnmatch(steps_.c_str(), text.c_str(), 0) == 0;
  // A range of this kind may end on another thread than it began on, so it can be a step but no op.
  if (type == kNvtxStartEnd && !step) return {};
  if (step) ++step_ranges_;
  RankedOp op;
  if (!place(row, op.start, op.dur)) return {};
  const NvtxName name = parse_nvtx_name(text);
  op.thread = thread_of(row.integer(4));
  op.name = run_.intern(name.name);
  op.sequence = name.sequence;
  op.scope = name.op ? OpScope::kFunction : OpScope::kUser;
  if (step) {
    ++steps_found_;
    const Status status =
        run_.add(Phase{op.thread, PhaseKind::kStep, op.name, op.start, op.dur, Duration(0)});
    if (!status.ok() || type == kNvtxStartEnd) return status;
  }
  const PythonRange range = python_range(name.name);
  if (range.kind != PhaseKind::kNone) {
    op.scope = OpScope::kUser;
    op.phase = range.kind;
    const Duration cpu = range.own_work ? op.dur : Duration(0);  // an export has no CPU times
    const Status status =
        run_.add(Phase{op.thread, range.kind, run_.intern(range.name), op.start, op.dur, cpu});
    if (!status.ok()) return status;
  } else if (name.op && is_autograd_node(name.name, 0)) {
    op.scope = OpScope::kBackwardFunction;
    op.phase = PhaseKind::kBackward;
  }
  return run_.add(op);
}

Status NsysReader::read_calls() {
  return each("CUPTI_ACTIVITY_KIND_RUNTIME",
              {"start", "end", "globalTid", "correlationId", "nameId"},
              [this](const Statement& row) {
                ApiCall call;
                if (!place(row, call.start, call.dur)) return Status();
                call.thread = thread_of(row.integer(2));
                call.correlation = correlation(row, 3, process_of(row.integer(2)));
                call.name = string_of(row.integer(4));
                return run_.add(call);
              });
}

Status NsysReader::read_kernels() {
  return each("CUPTI_ACTIVITY_KIND_KERNEL",
              with_activity({"demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                             "blockZ", "registersPerThread", "staticSharedMemory",
                             "dynamicSharedMemory", "graphId", "graphNodeId"}),
              [this](const Statement& row) {
                Kernel kernel;
                if (!activity(row, kernel)) return Status();
                kernel.name = string_of(row.integer(kFirstOwn));
                for (int i = 0; i < 3; ++i) {
                  const auto at = static_cast<std::size_t>(i);
                  kernel.grid[at] = small(row.integer(kFirstOwn + 1 + i));
                  kernel.block[at] = small(row.integer(kFirstOwn + 4 + i));
                }
                kernel.registers = small(row.integer(kFirstOwn + 7));
                kernel.static_shared_bytes = row.integer(kFirstOwn + 8);
                kernel.dynamic_shared_bytes = row.integer(kFirstOwn + 9);
                kernel.graph = row.integer(kFirstOwn + 10);
                kernel.graph_node = row.integer(kFirstOwn + 11);
                return run_.add(kernel);
              });
}

// Unless told to record the nodes of CUDA graphs, nsys writes one row for all work of a launch.
Status NsysReader::read_graphs() {
  return each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with_activity({"graphId"}),
              [this](const Statement& row) {
                Kernel launch;
                if (!activity(row, launch)) return Status();
                launch.graph = row.integer(kFirstOwn);
                launch.name = run_.intern("CUDA graph " + std::to_string(launch.graph));
                return run_.add(launch);
              });
}

Status NsysReader::read_copies() {
  return each("CUPTI_ACTIVITY_KIND_MEMCPY",
              with_activity({"bytes", "copyKind", "srcKind", "dstKind"}),
              [this](const Statement& row) {
                Copy copy;
                if (!activity(row, copy)) return Status();
                copy.bytes = row.integer(kFirstOwn);
                copy.kind = copy_kind(row.integer(kFirstOwn + 1));
                copy.source = entry_of(kMemoryKinds, row.integer_or(kFirstOwn + 2, -1));
                copy.target = entry_of(kMemoryKinds, row.integer_or(kFirstOwn + 3, -1));
                return run_.add(copy);
              });
}

Status NsysReader::read_memsets() {
  return each("CUPTI_ACTIVITY_KIND_MEMSET", with_activity({"bytes"}), [this](const Statement& row) {
    Memset memset;
    if (!activity(row, memset)) return Status();
    memset.bytes = row.integer(kFirstOwn);
    return run_.add(memset);
  });
}

Status NsysReader::read_syncs() {
  return each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", with_activity({"syncType"}),
              [this](const Statement& row) {
                Sync sync;
                if (!place(row, sync.start, sync.dur)) return Status();
                const ProcessId process = process_of_activity(row);
                sync.device = device_of(process, row.integer(kDevice));
                sync.kind = enum_of(row.integer(kFirstOwn), SyncKind::kContext);
                // A wait for all streams names none: CUPTI's invalid id.
                const std::int64_t stream = row.integer_or(kStream, -1);
                if (stream >= 0 && stream < std::numeric_limits<std::uint32_t>::max()) {
                  sync.stream = stream_of(sync.device, row.integer(kContext), stream);
                }
                sync.correlation = correlation(row, kCorrelation, process);
                return run_.add(sync);
              });
}

// `nsys export --ts-normalize=true` writes wall clock times.
std::int64_t NsysReader::since_session(std::int64_t time) const {
  return time > kLatestNs && epoch_ns_ > 0 ? time - epoch_ns_ : time;
}

bool NsysReader::place(const Statement& row, SessionTime& start, Duration& dur) {
  const std::int64_t from = since_session(row.integer_or(kStart, -1));
  const std::int64_t to = since_session(row.integer_or(kEnd, -1));
  if (from < 0 || to < from || to > kLatestNs) {
    run_.count_loss("bad_event");
    return false;
  }
  start = session_time(from);
  dur = Duration(to - from);
  return true;
}

bool NsysReader::activity(const Statement& row, Activity& activity) {
  if (!place(row, activity.start, activity.dur)) return false;
  const ProcessId process = process_of_activity(row);
  activity.stream = stream_of(device_of(process, row.integer(kDevice)), row.integer(kContext),
                              row.integer(kStream));
  activity.correlation = correlation(row, kCorrelation, process);
  return true;
}

std::int64_t NsysReader::correlation(const Statement& row, int at, ProcessId process) {
  const std::int64_t number = row.integer(at);
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) {
    run_.count_loss("correlation");
    return 0;
  }
  return number == 0 ? 0 : correlation_of(process, static_cast<std::uint32_t>(number));
}

ProcessId NsysReader::process_of(std::int64_t global_id) {
  const std::int64_t pid = global_id >> kPidShift & kIdMask;
  ProcessId& process = processes_[pid];
  if (process == ProcessId::kNone) {
    process = run_.add_process();
    run_.process(process).pid = pid;
  }
  return process;
}

// An activity without a process belongs to the only one that there is.
ProcessId NsysReader::process_of_activity(const Statement& row) {
  const std::int64_t global_id = row.integer(kProcess);
  const bool known = (global_id >> kPidShift & kIdMask) != 0;
  return known || processes_.size() != 1 ? process_of(global_id) : processes_.begin()->second;
}

ThreadId NsysReader::thread_of(std::int64_t global_tid) {
  ThreadId& thread = threads_[global_tid];
  if (thread == ThreadId::kNone) {
    thread = run_.add_thread(process_of(global_tid));
    run_.thread(thread).tid = global_tid & kIdMask;
  }
  return thread;
}

DeviceId NsysReader::device_of(ProcessId process, std::int64_t number) {
  DeviceId& device = devices_[{process, number}];
  if (device != DeviceId::kNone) return device;
  device = run_.add_device(process, number);
  if (const auto facts = device_facts_.find(number); facts != device_facts_.end()) {
    run_.device(device) = facts->second;
    run_.device(device).process = process;
  }
  return device;
}

StreamId NsysReader::stream_of(DeviceId device, std::int64_t context, std::int64_t number) {
  StreamId& stream = streams_[{device, context, number}];
  if (stream == StreamId::kNone) stream = run_.add_stream(device, context, number);
  return stream;
}

std::string NsysReader::text_of(std::int64_t id) {
  if (find_string_.handle() == nullptr) return {};
  find_string_.bind(1, id);
  const Result<bool> row = find_string_.next();
  std::string text = row.ok() && *row ? find_string_.text(0) : std::string();
  find_string_.reset();
  return text;
}

StringId NsysReader::string_of(std::int64_t id) {
  const auto [known, added] = strings_.try_emplace(id, StringId::kNone);
  if (added) known->second = run_.intern(text_of(id));
  return known->second;
}

Status NsysReader::finish(std::int64_t rank) {
  Status status = each("ThreadNames", {"globalTid", "nameId"}, [this](const Statement& row) {
    const auto thread = threads_.find(row.integer(0));
    if (thread != threads_.end()) run_.thread(thread->second).name = text_of(row.integer(1));
    return Status();
  });
  if (status.ok()) {
    status = each("PROCESSES", {"globalPid", "name"}, [this](const Statement& row) {
      const auto process = processes_.find(row.integer(0) >> kPidShift & kIdMask);
      if (process != processes_.end()) run_.process(process->second).name = row.text(1);
      return Status();
    });
  }
  // In a damaged file, the events are worth more than the names.
  if (status.kind() != ErrorKind::kNone && status.kind() != ErrorKind::kBadInput) return status;
  if (processes_.size() == 1) run_.process(processes_.begin()->second).rank = rank;
  return run_.end_source(Duration(epoch_ns_ > 0 && epoch_ns_ < kLatestEpochNs ? epoch_ns_ : 0));
}

}  // namespace stepscope
