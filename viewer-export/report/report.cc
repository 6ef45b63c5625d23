#include "viewer-export/report/report.h"

#include <utility>
#include <vector>

#include "viewer-export/report/code_samples.h"
#include "viewer-export/report/input_waits.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_names.h"
#include "viewer-export/report/report_page.h"
#include "viewer-export/report/run_series.h"
#include "viewer-export/report/run_tables.h"
#include "viewer-export/report/script_data.h"
#include "viewer-export/report/step_pictures.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSegments = 1000;  // a graph has some 320 bars

Json loop_json(const TraceReader& reader, const ReportLoop& loop, const std::vector<Phase>& phases,
               std::size_t most_steps) {
  return {{"process", static_cast<std::int64_t>(loop.process)},
          {"steps", steps_json(loop, most_steps)},
          {"segments", segments_json(loop, kMaxSegments)},
          {"waits", input_waits_json(reader, loop, phases)}};
}

// Reads the ops once, for everything that needs them.
Status read_ops(const TraceReader& reader, const AnalysedTime& time, RunTables& tables,
                StepPictures& pictures) {
  std::int64_t id = 0;
  return reader.for_each_op([&](const Op& op) {
    tables.add_op(op, ++id);
    pictures.add_op(op, time.process_of(op.thread));
    return true;
  });
}

// The data that the analysis document does not contain.
Result<Json> run_json(const TraceReader& reader, const Analysis& analysis) {
  const auto phases = reader.phases();
  if (!phases.ok()) return phases.status();
  auto series = run_series_json(reader);
  if (!series.ok()) return series.status();

  const std::vector<ReportLoop> loops = report_loops(reader, analysis);
  const AnalysedTime time(reader, loops);
  ReportNames names(reader);
  RunTables tables(reader, analysis, time, names);
  StepPictures pictures(reader, loops, names);
  Status status = tables.read_devices();
  if (status.ok()) status = read_ops(reader, time, tables, pictures);
  if (status.ok()) status = pictures.add_the_rest();
  if (!status.ok()) return status;
  auto code = code_samples_json(reader, analysis, loops, *phases, names);
  if (!code.ok()) return code.status();

  Json run = *std::move(series);
  run["devices"] = devices_json(reader, analysis);
  run["loops"] = Json::array();
  for (const ReportLoop& loop : loops) {
    run["loops"].push_back(loop_json(reader, loop, *phases, kReportSteps / loops.size()));
  }
  run["pictures"] = pictures.json();
  run["placement"] = tables.placement_json();
  run["ops"] = tables.ops_json();
  run["shapes"] = tables.shapes_json();
  run["kernels"] = tables.kernels_json();
  run["copies"] = tables.copies_json();
  run["code"] = *std::move(code);
  run["wall_start_unix_ns"] = reader.meta_int("wall_start_unix_ns", 0);
  run["imported_from"] = reader.meta("imported_from").value_or("");
  run["names"] = names.json();  // last, once all have been numbered
  return run;
}

Status write_data(ByteSink& sink, std::string_view id, std::string_view json) {
  return sink.write("<script type=\"application/json\" id=\"" + std::string(id) + "\">" +
                    script_data(json) + "</script>\n");
}

}  // namespace

bool report_has_charts() { return kReportHasCharts; }

Status write_sweep_report(const std::string& document, ByteSink& sink) {
  Status status = sink.write(kReportHead);
  if (status.ok()) status = sink.write(kReportBeforeData);
  if (status.ok()) status = write_data(sink, "sweep", document);
  if (status.ok()) status = sink.write(kReportAfterData);
  return status.ok() ? sink.finish() : status;
}

Status write_report(const TraceReader& reader, const Analysis& analysis,
                    const ReportDocuments& documents, ByteSink& sink) {
  const auto run = run_json(reader, analysis);
  if (!run.ok()) return run.status();
  Status status = sink.write(kReportHead);
  if (status.ok() && documents.beside) status = sink.write("connect-src 'self'; ");
  if (status.ok()) status = sink.write(kReportBeforeData);
  if (status.ok() && documents.beside) {
    const Json beside = {{"timeline", documents.beside->timeline},
                         {"live", documents.beside->live}};
    status = write_data(sink, "beside", beside.dump());
  }
  if (status.ok()) status = write_data(sink, "analysis", documents.analysis);
  if (status.ok() && !documents.comparison.empty()) {
    status = write_data(sink, "comparison", documents.comparison);
  }
  if (status.ok()) {
    status = write_data(sink, "run", run->dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (status.ok()) status = write_data(sink, "lost", Json(documents.losses).dump());
  if (status.ok()) status = sink.write(kReportAfterData);
  return status.ok() ? sink.finish() : status;
}

}  // namespace stepscope
