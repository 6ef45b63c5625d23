#include "viewer-export/gzip_sink.h"

#include "viewer-export/gzip_engines.h"

namespace stepscope {

std::unique_ptr<ByteSink> make_gzip_sink(ByteSink& next, int level, GzipEngine engine) {
  std::unique_ptr<ByteSink> sink;
  if (engine != GzipEngine::kZlib) sink = make_isal_sink(next, level);
  if (sink == nullptr && engine != GzipEngine::kIsal) sink = make_zlib_sink(next, level);
  return sink;
}

}  // namespace stepscope
