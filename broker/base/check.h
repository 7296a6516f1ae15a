#pragma once

#include <cstdio>
#include <cstdlib>

// GS_CHECK guards what would corrupt state if it were false: it ends the process, also in release
// builds. GS_DCHECK is for checks that cost; it exists in debug builds only.
#define GS_CHECK(condition)                                                              \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#ifdef NDEBUG
#define GS_DCHECK(condition) static_cast<void>(0)
#else
#define GS_DCHECK(condition) GS_CHECK(condition)
#endif
