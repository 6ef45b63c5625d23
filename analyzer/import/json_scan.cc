#include "analyzer/import/json_scan.h"

#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace stepscope {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Tracks braces only: brackets cannot hide the end of an object.
struct BraceWalk {
  bool in_string = false;
  bool escaped = false;
  std::size_t depth = 0;

  // True when `c` closes the outermost object.
  bool closes(char c) {
    if (in_string) {
      const bool was_escaped = escaped;
      escaped = !was_escaped && c == '\\';
      in_string = was_escaped || c != '"';
      return false;
    }
    in_string = c == '"';
    if (c == '{') ++depth;
    return c == '}' && --depth == 0;
  }
};

std::size_t walk(BraceWalk& state, std::string_view text, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    if (state.closes(text[at])) return at + 1;
  }
  return kNone;
}

#ifdef __SSE2__

constexpr std::size_t kBlock = 64;

// Bit i is set where bytes[i] is `c`.
std::uint64_t matches(const __m128i (&bytes)[4], char c) {
  const __m128i wanted = _mm_set1_epi8(c);
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const int part = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], wanted));
    bits |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(part)) << (16 * i);
  }
  return bits;
}

// Bit i of the result: the parity of bits 0 to i.
std::uint64_t parity_so_far(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

std::size_t scan_block(BraceWalk& state, std::string_view text, std::size_t from) {
  __m128i bytes[4];
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + from + 16 * i));
  }
  // With backslashes, walk byte by byte to find escaped quotes: they are rare in traces.
  if (state.escaped || matches(bytes, '\\') != 0) return walk(state, text, from, from + kBlock);
  const std::uint64_t in_string =
      parity_so_far(matches(bytes, '"')) ^ (state.in_string ? ~std::uint64_t{0} : 0);
  state.in_string = in_string >> 63 != 0;
  const std::uint64_t opens = matches(bytes, '{') & ~in_string;
  std::uint64_t braces = opens | (matches(bytes, '}') & ~in_string);
  for (; braces != 0; braces &= braces - 1) {
    const std::uint64_t brace = braces & -braces;
    if ((opens & brace) != 0) {
      ++state.depth;
    } else if (--state.depth == 0) {
      return from + static_cast<std::size_t>(std::countr_zero(brace)) + 1;
    }
  }
  return kNone;
}

#endif

}  // namespace

std::size_t end_of_object_bytewise(std::string_view text, std::size_t from) {
  BraceWalk state;
  return walk(state, text, from, text.size());
}

std::size_t end_of_object(std::string_view text, std::size_t from) {
#ifdef __SSE2__
  BraceWalk state;
  for (; text.size() - from >= kBlock; from += kBlock) {
    const std::size_t end = scan_block(state, text, from);
    if (end != kNone) return end;
  }
  return walk(state, text, from, text.size());
#else
  return end_of_object_bytewise(text, from);
#endif
}

void JsonWalk::take(char c) {
  if (in_string) {
    const bool was_escaped = escaped;
    escaped = !was_escaped && c == '\\';
    in_string = was_escaped || c != '"';
    return;
  }
  in_string = c == '"';
  if (c == '{' || c == '[') ++depth;
  if ((c == '}' || c == ']') && depth > 0) --depth;
}

}  // namespace stepscope
