#include "viewer-export/export_file.h"

#include <memory>

#include "viewer-export/output_file.h"

namespace stepscope {

Status write_export_file(const ExportFile& file, const std::string& store,
                         const std::function<Status(ByteSink&)>& write) {
  const auto output = OutputFile::create(file.output, {store});
  if (!output.ok()) return output.status();
  ByteSink* sink = output->get();
  std::unique_ptr<ByteSink> gzip;
  if (file.gzip || file.output.extension() == ".gz") {
    gzip = make_gzip_sink(**output, file.level);
    sink = gzip.get();
  }
  Status status = write(*sink);
  // The output names itself in its errors, and some of what is wrong with a recording does too.
  if (status.ok() || status.kind() == ErrorKind::kIo || status.message().starts_with(store + ":"))
    return status;
  return Status::error(status.kind(), store + ": " + status.message());
}

}  // namespace stepscope
