// How many random cases a test tries.
#pragma once

namespace stepscope::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// A build with sanitizers is tens of times slower, and looks for faults that most cases would show.
constexpr unsigned random_runs(unsigned count) { return kSanitized ? count / 8 : count; }

}  // namespace stepscope::testing
