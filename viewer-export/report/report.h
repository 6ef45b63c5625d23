// The report of a run: one HTML file that needs nothing else, neither a network nor a server.
// docs/report.md says what it shows.
//
// What the analyzer says of the run comes in as the document that `stepscope analyze --json`
// prints, and is put into the page as it is: a number in the report cannot differ from the one in
// that document. What the document does not hold (each step's time, all ops, samples) is read from
// the store.
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
  // Of a page that a RunServer serves (viewer-export/serve): what there is beside it. A file has
  // nothing beside it, and its policy lets it ask for nothing.
  struct Beside {
    bool timeline = false;
    bool live = false;
  };
  std::optional<Beside> beside;
  std::string losses = "nothing lost";  // as `stepscope analyze` says them
};

// What is in the page at most, all loops together. Beyond that it is thinned out, and the page says
// so.
inline constexpr std::size_t kReportSteps = 20'000;   // with their times; else means of neighbours
inline constexpr std::size_t kReportSlices = 24'000;  // drawn in the timelines of single steps
inline constexpr std::size_t kReportRows = 2'000;     // of ops, of ops by shape, of kernels
inline constexpr std::size_t kReportPoints = 400;     // of a counter over time
inline constexpr std::size_t kReportNameBytes = 1'000;  // of a name

// False when this program was built without the library that draws the graphs; the page then has
// all figures, and says what is missing.
bool report_has_charts();

// The page of a sweep: `document` is what `stepscope sweep show --json` prints, schema
// "stepscope.sweep/1", and all there is in it. Finishes `sink`. Errors: what `sink` reports.
Status write_sweep_report(const std::string& document, ByteSink& sink);

// Writes the page and finishes `sink`. `analysis`: the one that the document tells of, with its
// call_ops and utilizations. Memory: that of the run's steps, phases and device activities; ops are
// streamed. Errors: what reading and `sink` report.
Status write_report(const TraceReader& reader, const Analysis& analysis,
                    const ReportDocuments& documents, ByteSink& sink);

}  // namespace stepscope
