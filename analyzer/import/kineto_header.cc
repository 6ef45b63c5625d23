#include "analyzer/import/kineto_header.h"

#include <simdjson.h>

#include "analyzer/import/decimal.h"
#include "analyzer/import/json_string.h"

namespace stepscope {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  // the year 2096

std::int64_t integer_of(const dom::element& object, const char* key) {
  std::int64_t value = 0;
  return object[key].get_int64().get(value) == simdjson::SUCCESS ? value : 0;
}

Device device_of(const dom::element& properties) {
  Device device;
  std::string_view name;
  if (properties["name"].get_string().get(name) == simdjson::SUCCESS) device.name = name;
  device.number = integer_of(properties, "id");
  device.memory_bytes = integer_of(properties, "totalGlobalMem");
  device.compute_major = integer_of(properties, "computeMajor");
  device.compute_minor = integer_of(properties, "computeMinor");
  device.multiprocessors = integer_of(properties, "numSms");
  device.max_threads_per_multiprocessor = integer_of(properties, "maxThreadsPerMultiprocessor");
  device.registers_per_multiprocessor = integer_of(properties, "regsPerMultiprocessor");
  device.shared_bytes_per_multiprocessor = integer_of(properties, "sharedMemPerMultiprocessor");
  return device;
}

}  // namespace

void KinetoHeader::take(std::string_view key, std::string_view value) {
  if (key == "\"baseTimeNanoseconds\"") {
    base_ns = parse_integer(value);
    if (base_ns && (*base_ns < 0 || *base_ns > kLatestNs)) base_ns.reset();
  } else if (key == "\"displayTimeUnit\"") {
    display_unit = true;
  } else if (key == "\"otherData\"") {
    dom::parser parser;
    dom::element document;
    std::string_view producer;
    if (parser.parse(value.data(), value.size()).get(document) != simdjson::SUCCESS) return;
    exported = document["producer"].get_string().get(producer) == simdjson::SUCCESS &&
               producer == "stepscope";
  } else if (key == "\"host_name\"") {
    std::string buffer;
    host = unescape_json(value, buffer);
  } else if (key == "\"trace_id\"") {
    std::string buffer;
    trace_id = unescape_json(value, buffer);
  } else if (key == "\"distributedInfo\"" || key == "\"deviceProperties\"") {
    dom::parser parser;
    dom::element document;
    if (parser.parse(value.data(), value.size()).get(document) != simdjson::SUCCESS) return;
    std::int64_t number = 0;
    if (document["rank"].get_int64().get(number) == simdjson::SUCCESS) rank = number;
    dom::array list;
    if (document.get_array().get(list) != simdjson::SUCCESS) return;
    for (const dom::element properties : list) {
      const Device device = device_of(properties);
      devices[device.number] = device;
    }
  }
}

}  // namespace stepscope
