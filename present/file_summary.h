// The summaries that `stepscope export` and `stepscope import` print. Lines of a page.
#pragma once

#include <optional>
#include <string>

#include "analyzer/import/import.h"
#include "viewer-export/chrome_trace.h"

namespace stepscope {

// `bytes`: the size of `output`; nullopt: it has none, as a pipe.
std::string export_summary(const std::string& output, std::optional<double> bytes,
                           const ChromeTraceSummary& summary);
std::string import_summary(const std::string& output, const ImportSummary& summary);

}  // namespace stepscope
