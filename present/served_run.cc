#include "present/served_run.h"

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
  if (!page_.empty() && !page_grows_) return page_;
  const auto reader = TraceReader::open(store_);
  if (!reader.ok()) return reader.status();
  if (!page_.empty() && (*reader)->being_recorded() && Clock::now() < renew_page_at_) return page_;
  const auto begun = Clock::now();
  auto report = analyze_(**reader);
  if (!report.ok()) return report.status();
  const bool grows = report->run.being_recorded;
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
  // While the recording runs, at most a tenth of the time goes into pages, however large it gets.
  renew_page_at_ = Clock::now() + 9 * (Clock::now() - begun);
  analysis_ = std::move(analysis);
  return page_;
}

Status ServedRun::trace(ByteSink& sink) {
  const auto analysis = latest_analysis();
  if (!analysis.ok()) return analysis.status();
  const auto reader = TraceReader::open(store_);
  if (!reader.ok()) return reader.status();
  const auto gzip = make_gzip_sink(sink);
  return write_chrome_trace(**reader, **analysis, {}, *gzip).status();
}

Result<std::string> ServedRun::frame() {
  constexpr std::chrono::milliseconds kFrame{500};  // all clients share a frame
  const MutexLock lock(live_mutex_);
  if (Clock::now() < renew_frame_at_) return frame_;
  if (follower_ == nullptr) {
    auto opened = LiveRun::open(store_);
    if (!opened.ok()) return opened.status();
    follower_ = *std::move(opened);
  }
  const auto frame = follower_->refresh();
  if (!frame.ok()) return frame.status();
  frame_ = top_json(**frame);
  renew_frame_at_ = Clock::now() + kFrame;
  return frame_;
}

Result<ServedRun::SharedAnalysis> ServedRun::latest_analysis() {
  if (const auto made = page(); !made.ok()) return made.status();
  const MutexLock lock(page_mutex_);
  return analysis_;
}

}  // namespace stepscope
