// The page of the report, made at build time from report/page by report/embed.cmake.
#pragma once

#include <string_view>

namespace stepscope {

// The beginning, up to the place in its Content-Security-Policy where a served page may add the
// sources it may connect to.
extern const std::string_view kReportHead;
// The parts before and after the data.
extern const std::string_view kReportBeforeData;
extern const std::string_view kReportAfterData;
extern const bool kReportHasCharts;

}  // namespace stepscope
