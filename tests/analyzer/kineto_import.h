// Imports traces of the PyTorch profiler, written as files, into a store.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/import/import.h"
#include "store/trace_reader.h"
#include "tests/analyzer/kineto_dialects.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {

inline constexpr const Dialect& kToday = kDialects[3];

class KinetoImport : public ::testing::Test {
 protected:
  std::filesystem::path write(const char* name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return dir_ / name;
  }
  std::filesystem::path write_gzip(const char* name, const std::string& text) {
    gzFile file = gzopen((dir_ / name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return dir_ / name;
  }
  Result<ImportSummary> import(const std::vector<std::filesystem::path>& files,
                               bool partial = false) {
    ImportOptions options;
    options.partial = partial;
    return import_traces(files, out_, options);
  }
  std::unique_ptr<TraceReader> store() { return testing::open_store(out_); }
  std::vector<std::string> names_in_folder() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // "name thread start-end self scope phase", by end.
  std::vector<std::string> ops(const TraceReader& reader) {
    std::vector<std::string> lines;
    EXPECT_OK(reader.for_each_op([&](const Op& op) {
      lines.push_back(std::string(reader.text(op.name)) + " " +
                      std::to_string(static_cast<std::uint32_t>(op.thread)) + " " +
                      std::to_string(to_ns(op.start)) + "-" +
                      std::to_string(to_ns(op.start + op.dur)) + " " +
                      std::to_string(to_ns(op.self)) + " " +
                      std::to_string(static_cast<int>(op.scope)) + " " + phase_name(op.phase));
      return true;
    }));
    return lines;
  }

  const testing::TempDir dir_;
  const std::filesystem::path out_ = dir_ / "run.db";
};

}  // namespace stepscope
