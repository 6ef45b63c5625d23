// The libcupti of this process, found and loaded at run time; never linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/cupti/record_sizes.h"
#include "store/status.h"

namespace stepscope {

// CUptiResult: 0 is success.
using CuptiResult = int;

// The functions used, with plain types in place of CUPTI's pointers and enumerations.
struct CuptiLibrary {
  using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes,
                                   std::size_t* max_records);
  using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t bytes, std::size_t valid_bytes);
  using Subscriber = void (*)(void* data, int domain, std::uint32_t function, const void* facts);

  CuptiResult (*get_version)(std::uint32_t* version);
  CuptiResult (*get_result_string)(CuptiResult result, const char** text);
  CuptiResult (*subscribe)(void** subscriber, Subscriber callback, void* data);
  CuptiResult (*unsubscribe)(void* subscriber);
  CuptiResult (*set_thread_id_type)(int type);
  CuptiResult (*register_timestamp_callback)(std::uint64_t (*now)());
  CuptiResult (*register_callbacks)(BufferRequested requested, BufferCompleted completed);
  CuptiResult (*enable)(std::uint32_t kind);
  CuptiResult (*disable)(std::uint32_t kind);
  // Whether calls of one function are recorded while their kind is. Enabling the kind resets it.
  // Null in releases that do not have it.
  CuptiResult (*enable_runtime_call)(std::uint32_t function, std::uint8_t on);
  CuptiResult (*enable_driver_call)(std::uint32_t function, std::uint8_t on);
  CuptiResult (*flush_all)(std::uint32_t flags);
  CuptiResult (*get_num_dropped_records)(void* context, std::uint32_t stream, std::size_t* dropped);
  CuptiResult (*get_callback_name)(int domain, std::uint32_t function, const char** name);
  NextRecord next_record;

  std::string path;
};

// Whether this process uses CUDA, that is, has loaded its driver library. Before that, CUPTI must
// not be called: it would initialise CUDA, which is then unusable in forked children.
bool cuda_is_in_use();

// The possible places of libcupti, in search order: the one already loaded, those shipped with
// PyTorch, the CUDA toolkit's, and the one that the system's loader finds by name.
std::vector<std::filesystem::path> cupti_places();

// The functions of a loaded libcupti; `path` is its file. Errors: kUnavailable if one is missing.
Result<CuptiLibrary> find_cupti_functions(void* library, const std::filesystem::path& path);

// Loads the first of cupti_places() that exists, permanently. Errors: kUnavailable.
Result<CuptiLibrary> load_cupti();

}  // namespace stepscope
