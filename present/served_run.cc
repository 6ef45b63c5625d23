#include "present/served_run.h"

#include <sys/stat.h>

#include <utility>

#include "present/losses.h"
#include "present/report_json.h"
#include "present/stored_analysis.h"
#include "present/top_json.h"
#include "viewer-export/chrome_trace.h"
#include "viewer-export/gzip_sink.h"
#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

// What the page of a distributed run needs: the details of its first rank.
Analysis one_rank(AnalysisReport report) {
  std::erase_if(report.loops, [rank = report.loops.front().rank](const LoopReport& loop) {
    return loop.rank != rank;
  });
  return to_analysis(report);
}

}  // namespace

Result<std::string> ServedRun::page() {
  const MutexLock lock(page_mutex_);
  const bool current = is_current();
  if (current && !page_grows_) return page_;
  Version version =
      version_now(/*grows=*/false);  // before: the page is then made again, if need be
  const auto reader = TraceReader::open(store_);
  if (!reader.ok()) return reader.status();
  if (current && (*reader)->being_recorded() && Clock::now() < renew_page_at_) return page_;
  const auto begun = Clock::now();
  auto report = analyze_(**reader);
  if (!report.ok()) return report.status();
  const bool grows = report->run.being_recorded;
  if (grows) version.changed_ns = 0;
  StringSink sink;
  const ReportDocuments documents{json_report(*report, kPageTop), "",
                                  ReportDocuments::Beside{true, live_},
                                  losses_text(report->losses, report->run.is_incomplete())};
  auto analysis = std::make_shared<const Analysis>(to_analysis(*report));
  const Status status = report->ranks
                            ? write_report(**reader, one_rank(*std::move(report)), documents, sink)
                            : write_report(**reader, *analysis, documents, sink);
  if (!status.ok()) return status;
  page_ = sink.text();
  page_grows_ = grows;
  version_ = version;
  // While the recording runs, at most a tenth of the time goes into pages, however large it gets.
  renew_page_at_ = Clock::now() + 9 * (Clock::now() - begun);
  analysis_ = std::move(analysis);
  return page_;
}

Status ServedRun::trace(ByteSink& sink) {
  std::unique_ptr<TraceReader> reader;
  SharedAnalysis analysis;
  if (Status status = open(reader, analysis); !status.ok()) return status;
  const auto gzip = make_gzip_sink(sink);
  return write_chrome_trace(*reader, *analysis, {}, *gzip).status();
}

Result<std::string> ServedRun::frame() {
  constexpr std::chrono::milliseconds kFrame{500};  // all clients share a frame
  const MutexLock lock(live_mutex_);
  if (Clock::now() < renew_frame_at_) return frame_;
  const Version version = version_now(/*grows=*/true);
  if (follower_ == nullptr || followed_ != version) {
    auto opened = LiveRun::open(store_);
    if (!opened.ok()) return opened.status();
    follower_ = *std::move(opened);
    followed_ = version;
  }
  const auto frame = follower_->refresh();
  if (!frame.ok()) return frame.status();
  frame_ = top_json(**frame);
  renew_frame_at_ = Clock::now() + kFrame;
  return frame_;
}

ServedRun::Version ServedRun::version_now(bool grows) const {
  struct stat status{};
  if (::stat(store_.c_str(), &status) != 0) return {};
  const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  return {status.st_dev, status.st_ino, grows ? 0 : changed};
}

bool ServedRun::is_current() { return !page_.empty() && version_ == version_now(page_grows_); }

Status ServedRun::open(std::unique_ptr<TraceReader>& reader, SharedAnalysis& analysis) {
  constexpr int kTries = 3;  // another store may come between the two
  for (int i = 0; i < kTries; ++i) {
    if (const auto made = page(); !made.ok()) return made.status();
    auto opened = TraceReader::open(store_);
    if (!opened.ok()) return opened.status();
    const MutexLock lock(page_mutex_);
    if (!is_current()) continue;
    reader = *std::move(opened);
    analysis = analysis_;
    return {};
  }
  return Status::error(ErrorKind::kIo, store_.string() + ": is being replaced again and again");
}

}  // namespace stepscope
