// Compresses with gzip on the way to another sink: a single member, as viewers expect.
#pragma once

#include <memory>

#include "viewer-export/byte_sink.h"

namespace stepscope {

enum class GzipEngine {
  kBest,  // ISA-L if it was found at build time (about four times as fast), else zlib
  kIsal,
  kZlib,
};

inline constexpr int kGzipFast = 1;  // the default: every level shrinks traces to about a tenth
inline constexpr int kGzipSmall = 3;

// `level`: kGzipFast to kGzipSmall. `next` must outlive the result; finish() finishes it too.
// nullptr if this build does not have `engine`.
std::unique_ptr<ByteSink> make_gzip_sink(ByteSink& next, int level = kGzipFast,
                                         GzipEngine engine = GzipEngine::kBest);

}  // namespace stepscope
