#include "samples/cpp/mnist/dataset.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "samples/cpp/mnist/digits.h"

namespace mnist {
namespace {

namespace fs = std::filesystem;

// The version of draw_digits(); incremented when its output changes, so that no older cache is
// used.
constexpr int kDrawingVersion = 1;
constexpr std::uint64_t kTrainSeed = 1;
constexpr std::uint64_t kTestSeed = 2;

fs::path existing(const fs::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    fs::path file = folder / (name + ending);
    if (fs::exists(file)) return file;
  }
  throw std::runtime_error(folder.string() + ": holds no " + name + " (nor " + name +
                           ".gz), one of the four files of MNIST");
}

Split load_split(const fs::path& folder, const std::string& prefix) {
  const fs::path images = existing(folder, prefix + "-images-idx3-ubyte");
  const fs::path labels = existing(folder, prefix + "-labels-idx1-ubyte");
  Split split{read_idx(images), read_idx(labels)};
  if (split.images.shape.size() != 3)
    throw std::runtime_error(images.string() + ": holds no images");
  if (split.labels.shape.size() != 1)
    throw std::runtime_error(labels.string() + ": holds no labels");
  if (split.images.shape[0] != split.labels.shape[0]) {
    throw std::runtime_error(images.string() + ": " + std::to_string(split.images.shape[0]) +
                             " images, but " + std::to_string(split.labels.shape[0]) +
                             " labels in " + labels.string());
  }
  if (split.size() == 0) throw std::runtime_error(images.string() + ": is empty");
  if (*std::max_element(split.labels.bytes.begin(), split.labels.bytes.end()) >= kClasses) {
    throw std::runtime_error(labels.string() + ": has a label above " +
                             std::to_string(kClasses - 1));
  }
  return split;
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "stepscope";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "stepscope";
  }
  return fs::temp_directory_path() / "stepscope";
}

void write_split(const fs::path& folder, const std::string& prefix, const LabelledImages& drawn) {
  write_idx(folder / (prefix + "-images-idx3-ubyte"), drawn.images);
  write_idx(folder / (prefix + "-labels-idx1-ubyte"), drawn.labels);
}

}  // namespace

Dataset load_dataset(const fs::path& folder) {
  Dataset dataset{load_split(folder, "train"), load_split(folder, "t10k")};
  if (dataset.train.rows() != dataset.test.rows() ||
      dataset.train.columns() != dataset.test.columns()) {
    throw std::runtime_error(folder.string() + ": training and test images differ in size");
  }
  return dataset;
}

fs::path drawn_dataset(DrawnSize size) {
  const std::string name = "drawn-digits-v" + std::to_string(kDrawingVersion) + "-" +
                           std::to_string(size.train) + "-" + std::to_string(size.test);
  const fs::path folder = cache_folder() / name;
  if (fs::exists(folder)) return folder;
  // Created under another name and then renamed, so that the folder is complete or absent. If two
  // programs draw at once, one rename fails and its folder is removed.
  const fs::path making = folder.string() + ".making-" + std::to_string(getpid());
  try {
    fs::create_directories(making);
    write_split(making, "train", draw_digits(size.train, kTrainSeed));
    write_split(making, "t10k", draw_digits(size.test, kTestSeed));
    std::error_code taken;
    fs::rename(making, folder, taken);
    if (taken && !fs::exists(folder))
      throw fs::filesystem_error("cannot rename", making, folder, taken);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(making, ignored);
    throw std::runtime_error(std::string("cannot store the drawn digits: ") + error.what());
  }
  std::error_code ignored;
  fs::remove_all(making, ignored);
  return folder;
}

}  // namespace mnist
