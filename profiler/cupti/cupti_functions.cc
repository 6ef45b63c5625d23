#include <dlfcn.h>

#include "profiler/cupti/cupti_library.h"

namespace stepscope {
namespace {

// Looks up the functions and remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void find(const char* name, Function*& function) {
    find_if_there(name, function);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  template <typename Function>
  void find_if_there(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

}  // namespace

Result<CuptiLibrary> find_cupti_functions(void* library, const std::filesystem::path& path) {
  CuptiLibrary cupti{};
  cupti.path = path;
  Symbols symbols(library);
  symbols.find("cuptiGetVersion", cupti.get_version);
  symbols.find("cuptiGetResultString", cupti.get_result_string);
  symbols.find("cuptiSubscribe", cupti.subscribe);
  symbols.find("cuptiUnsubscribe", cupti.unsubscribe);
  symbols.find("cuptiSetThreadIdType", cupti.set_thread_id_type);
  symbols.find("cuptiActivityRegisterTimestampCallback", cupti.register_timestamp_callback);
  symbols.find("cuptiActivityRegisterCallbacks", cupti.register_callbacks);
  symbols.find("cuptiActivityEnable", cupti.enable);
  symbols.find("cuptiActivityDisable", cupti.disable);
  symbols.find("cuptiActivityFlushAll", cupti.flush_all);
  symbols.find_if_there("cuptiActivityEnableRuntimeApi", cupti.enable_runtime_call);
  symbols.find_if_there("cuptiActivityEnableDriverApi", cupti.enable_driver_call);
  symbols.find("cuptiActivityGetNumDroppedRecords", cupti.get_num_dropped_records);
  symbols.find("cuptiGetCallbackName", cupti.get_callback_name);
  symbols.find("cuptiActivityGetNextRecord", cupti.next_record);
  if (symbols.missing() == nullptr) return cupti;
  return Status::error(ErrorKind::kUnavailable,
                       path.string() + " is older than CUPTI 11.8: it has no " + symbols.missing());
}

}  // namespace stepscope
