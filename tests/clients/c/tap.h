// Prints one TAP line per check.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int tap_count;
static int tap_failed;

static inline bool tap_ok(bool passed, const char* name) {
  tap_count++;
  if (!passed) tap_failed++;
  printf("%sok %d - %s\n", passed ? "" : "not ", tap_count, name);
  fflush(stdout);
  return passed;
}

static inline void tap_int(long got, long want, const char* name) {
  if (!tap_ok(got == want, name)) printf("# got  %ld\n# want %ld\n", got, want);
}

// Compares bytes; NULL counts as no bytes.
static inline void tap_bytes(const void* got, size_t size, const char* want, const char* name) {
  bool same = size == strlen(want) && (size == 0 || (got != NULL && memcmp(got, want, size) == 0));
  if (!tap_ok(same, name)) {
    printf("# got  %.*s (%zu bytes)\n# want %s\n", got == NULL ? 0 : (int)size,
           got == NULL ? "" : (const char*)got, size, want);
  }
}

static inline void tap_str(const char* got, const char* want, const char* name) {
  tap_bytes(got, got == NULL ? 0 : strlen(got), want, name);
}

// True when the check below is one that the reference server is known to fail; prints the skip.
static inline bool tap_skip_reference(const char* name, const char* reason) {
  const char* reference = getenv("GEARSTALK_REFERENCE");
  if (reference == NULL || strcmp(reference, "1") != 0) return false;
  tap_count++;
  printf("ok %d - %s # skip ours only: %s\n", tap_count, name, reason);
  return true;
}

static inline int tap_finish(void) {
  printf("1..%d\n", tap_count);
  return tap_failed == 0 ? 0 : 1;
}

static inline void nap(void) {
  struct timespec pause = {0, 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
}

// Repeats the expression for some minutes until it is true.
#define EVENTUALLY(expression)                            \
  ({                                                      \
    bool seen = false;                                    \
    for (int tries = 0; tries < 6000 && !seen; tries++) { \
      seen = (expression);                                \
      if (!seen) nap();                                   \
    }                                                     \
    seen;                                                 \
  })
