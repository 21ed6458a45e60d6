#pragma once

#ifdef __has_feature  // clang's
#define CORTADO_HAS_FEATURE(name) __has_feature(name)
#else
#define CORTADO_HAS_FEATURE(name) 0
#endif

namespace cortado {

#if defined(__SANITIZE_THREAD__) || CORTADO_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

/// Whether a sanitizer is active, which maps more memory than any limit allows.
#if defined(__SANITIZE_ADDRESS__) || CORTADO_HAS_FEATURE(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kThreadSanitized;
#endif

}  // namespace cortado

#undef CORTADO_HAS_FEATURE
