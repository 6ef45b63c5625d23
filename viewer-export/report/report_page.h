// The page of the report, made at build time from report/page by report/embed.cmake.
#pragma once

#include <string_view>

namespace stepscope {

// What stands before the data and after it.
extern const std::string_view kReportBeforeData;
extern const std::string_view kReportAfterData;
extern const bool kReportHasCharts;

}  // namespace stepscope
