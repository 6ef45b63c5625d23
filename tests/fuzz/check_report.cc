#include "tests/fuzz/check_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analyzer/analyze.h"
#include "present/report_json.h"
#include "present/report_text.h"
#include "present/stored_analysis.h"
#include "tests/fuzz/reused_store.h"
#include "viewer-export/report/report.h"

namespace stepscope::fuzz {
namespace {

using nlohmann::json;

void check_sums(const Analysis& analysis) {
  for (const Step& step : analysis.steps) {
    std::map<DeviceId, Duration> sums;
    for (const StepTime& time : step.times) {
      require(time.exposed >= Duration(0) && time.hidden >= Duration(0), "no time is negative");
      sums[time.device] += time.exposed;
    }
    for (const auto& [device, sum] : sums) require(sum == step.dur, "a step's times add up to it");
  }
}

void check_data(const std::string& page) {
  static constexpr std::string_view kBegin = "<script type=\"application/json\"";
  std::size_t found = 0;
  for (std::size_t at = page.find(kBegin); at != std::string::npos;
       at = page.find(kBegin, at + 1)) {
    const std::size_t begin = page.find('>', at) + 1;
    const std::size_t end = page.find("</script>", begin);
    require(end != std::string::npos, "the page's data ends");
    const std::string_view text(page.data() + begin, end - begin);
    require(!json::parse(text, nullptr, false).is_discarded(), "the page's data is JSON");
    ++found;
  }
  require(found >= 2, "the page has the analysis and the run");
}

}  // namespace

void check_report(const TraceReader& reader, const AnalysisReport& report) {
  const Analysis analysis = to_analysis(report);
  check_sums(analysis);
  require(!text_report(report, {}).empty(), "there is something to say");
  StringSink sink;
  const ReportDocuments documents{json_report(report, kPageTop), "", std::nullopt};
  require(write_report(reader, analysis, documents, sink).ok(), "a page can be written");
  check_data(sink.text());
}

}  // namespace stepscope::fuzz
