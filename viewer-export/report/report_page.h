// The page of the report, made at build time from report/page by report/embed.cmake.
#pragma once

#include <string_view>

namespace stepscope {

// The beginning, up to the place in its policy (Content-Security-Policy) where a page that is
// served may say what it may ask for.
extern const std::string_view kReportHead;
// What stands before the data and after it.
extern const std::string_view kReportBeforeData;
extern const std::string_view kReportAfterData;
extern const bool kReportHasCharts;

}  // namespace stepscope
