// The report of a run: one HTML file that needs nothing else, neither a network nor a server.
// docs/report.md says what it shows.
//
// The results of the analyzer come in as the document that `stepscope analyze --json` prints, and
// are put into the page unchanged: a number in the report cannot differ from the one in that
// document. What the document lacks (each step's time, all ops, counter readings) is read from the
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/analysis.h"
#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"

namespace stepscope {

struct ReportDocuments {
  std::string analysis;    // JSON, schema "stepscope.analysis/1"
  std::string comparison;  // JSON, schema "stepscope.comparison/1"; empty: nothing to compare with
  // For a page served by a RunServer (viewer-export/serve): the other pages available. A file has
  // none, and its policy forbids all requests.
  struct Beside {
    bool timeline = false;
    bool live = false;
  };
  std::optional<Beside> beside = std::nullopt;
  std::string losses = "nothing lost";  // as `stepscope analyze` prints them
};

// Limits of the page, over all loops. Beyond them the data is thinned out, and the page says so.
inline constexpr std::size_t kReportSteps = 20'000;   // with their times; else means of neighbours
inline constexpr std::size_t kReportSlices = 24'000;  // drawn in the timelines of single steps
inline constexpr std::size_t kReportRows = 2'000;     // of ops, of ops by shape, of kernels
inline constexpr std::size_t kReportPoints = 400;     // of a counter over time
inline constexpr std::size_t kReportNameBytes = 1'000;  // of a name
inline constexpr std::size_t kReportThreads = 64;       // whose stacks are drawn
inline constexpr std::size_t kReportFrames = 20'000;    // of their stacks
inline constexpr double kReportLeastShare = 0.0005;     // of a thread's samples, to draw a frame

// False if this program was built without the library that draws the graphs; the page then shows
// all figures and says what is missing.
bool report_has_charts();

// The page of a sweep: `document` is what `stepscope sweep show --json` prints, schema
// "stepscope.sweep/1", and its only data. Finishes `sink`. Errors: those of `sink`.
Status write_sweep_report(const std::string& document, ByteSink& sink);

// Writes the page and finishes `sink`. `analysis`: the one that the document describes, with its
// call_ops and utilizations. Memory: that of the run's steps, phases and device activities; ops are
// streamed. Errors: those of reading and of `sink`.
Status write_report(const TraceReader& reader, const Analysis& analysis,
                    const ReportDocuments& documents, ByteSink& sink);

}  // namespace stepscope
