// Its presence is what tells that a process uses CUDA. It has one device.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned) { return 0; }
EXPORTED int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORTED int cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? 0 : 101;
}
EXPORTED int cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in GPU");
  return 0;
}
EXPORTED int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{16} << 30;
  return 0;
}
EXPORTED int cuDeviceGetUuid(std::uint8_t* uuid, int) {
  for (std::uint8_t i = 0; i < 16; ++i) uuid[i] = static_cast<std::uint8_t>(17 * i);
  return 0;
}
EXPORTED int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 10:
      return *value = 32, 0;
    case 16:
      return *value = 100, 0;
    case 39:
      return *value = 2048, 0;
    case 75:
      return *value = 9, 0;
    case 76:
      return *value = 0, 0;
    case 81:
      return *value = 228 << 10, 0;
    case 82:
      return *value = 65536, 0;
    default:
      return 1;
  }
}
