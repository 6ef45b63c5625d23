// The output file of an export, compressed if requested.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "viewer-export/byte_sink.h"
#include "viewer-export/gzip_sink.h"

namespace stepscope {

struct ExportFile {
  std::filesystem::path output;  // "-" is standard output
  bool gzip = false;             // compress it even if its name does not end in .gz
  int level = kGzipFast;         // to kGzipSmall
};

// Lets `write` write to the file and finish it. The file replaces an earlier one only once it is
// complete. `store`: the recording, which names it in errors. Errors: those of OutputFile::create()
// and of `write`.
Status write_export_file(const ExportFile& file, const std::string& store,
                         const std::function<Status(ByteSink&)>& write);

}  // namespace stepscope
