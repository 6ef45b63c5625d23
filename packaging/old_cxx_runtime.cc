// What the op hooks for torch 2.6 take from a C library and a C++ library that are newer than those
// of manylinux_2_28. Later releases of torch bring both. Hidden symbols, linked into each hook
// library.
#include <new>

// Since GCC 11; the inline code of containers calls it.
[[noreturn]] void stepscope_bad_array_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
[[noreturn]] void stepscope_bad_array_length() { throw std::bad_array_new_length(); }

// Since glibc 2.32. Whether references may be counted without atomic operations: never.
extern const char stepscope_is_single_threaded __asm__("__libc_single_threaded");
[[gnu::used]] const char stepscope_is_single_threaded = 0;
