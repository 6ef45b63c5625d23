// The two compressors behind make_gzip_sink(). Each returns nullptr in a build without its library.
#pragma once

#include <memory>

#include "viewer-export/byte_sink.h"

namespace stepscope {

std::unique_ptr<ByteSink> make_isal_sink(ByteSink& next, int level);
std::unique_ptr<ByteSink> make_zlib_sink(ByteSink& next, int level);

}  // namespace stepscope
