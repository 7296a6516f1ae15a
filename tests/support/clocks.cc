// Moves the clocks of a process that preloads this library by the values in the file that
// GEARSTALK_CLOCKS names. Waits until a time of the wall clock, as Abseil's and so gRPC's threads
// make them, follow it; other timeouts follow the host's clocks.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMillion = 1'000'000;

// As tests/support/clocks.py writes it.
struct Clocks {
  volatile std::int64_t wall, boot, monotonic;  // nanoseconds
  volatile std::int64_t drift;  // of wall and boot, millionths since the process began
  volatile std::int64_t delay;  // nanoseconds for which a reader of the wall clock loses its CPU
};

// Not a static variable with a guard: a thread that waits for a guard calls syscall, and would call
// itself without end while the loader holds up the thread that looks the function up.
template <typename... Words>
long Call(long number, Words... words) {
  using Function = long (*)(long, ...);
  static constinit std::atomic<Function> known = nullptr;
  Function call = known;
  if (call == nullptr) known = call = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "syscall"));
  return call(number, words...);
}

std::int64_t TimeOf(const timespec& ts) { return ts.tv_sec * kSecond + ts.tv_nsec; }

timespec TimespecOf(std::int64_t time) {
  return {.tv_sec = time / kSecond, .tv_nsec = time % kSecond};
}

std::int64_t Read(clockid_t id) {
  timespec ts{};
  Call(SYS_clock_gettime, id, &ts);
  return TimeOf(ts);
}

const Clocks* Map() {
  const char* path = std::getenv("GEARSTALK_CLOCKS");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* bytes = mmap(nullptr, sizeof(Clocks), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return bytes == MAP_FAILED ? nullptr : static_cast<const Clocks*>(bytes);
}

// A clock that drifts since `begun`, when it was first read; exact for two hours.
std::int64_t Drifted(const Clocks& clocks, std::int64_t begun, std::int64_t now) {
  return begun + (now - begun) * (kMillion + clocks.drift) / kMillion;
}

std::int64_t Moved(const Clocks& clocks, clockid_t id) {
  static const std::int64_t wall = Read(CLOCK_REALTIME), boot = Read(CLOCK_BOOTTIME);
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return clocks.wall + Drifted(clocks, wall, Read(CLOCK_REALTIME));
    case CLOCK_BOOTTIME:
      return clocks.boot + Drifted(clocks, boot, Read(CLOCK_BOOTTIME));
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return clocks.monotonic + Read(id);
    default:
      return Read(id);
  }
}

const Clocks* Mapped() {
  static const Clocks* const clocks = Map();
  return clocks;
}

// The kernel ends such a wait when its clock gets there, also by a step: here it is looked at
// often.
long WaitUntil(const Clocks& clocks, const long (&words)[6]) {
  constexpr std::int64_t kLook = kSecond / 20;
  const std::int64_t until = TimeOf(*reinterpret_cast<const timespec*>(words[3]));
  while (true) {
    const std::int64_t left = until - Moved(clocks, CLOCK_REALTIME);
    const timespec next =
        TimespecOf(Read(CLOCK_REALTIME) + std::clamp<std::int64_t>(left, 0, kLook));
    const long done = Call(SYS_futex, words[0], words[1], words[2], &next, words[4], words[5]);
    if (done == 0 || errno != ETIMEDOUT || left <= 0) return done;
  }
}

}  // namespace

extern "C" long syscall(long number, ...) noexcept {
  long words[6];
  va_list rest;
  va_start(rest, number);
  for (long& word : words) word = va_arg(rest, long);
  va_end(rest);
  const bool waits = number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 && words[3] != 0;
  if (waits && Mapped() != nullptr) return WaitUntil(*Mapped(), words);
  return Call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

extern "C" int clock_gettime(clockid_t id, timespec* ts) noexcept {
  const Clocks* const clocks = Mapped();
  if (clocks == nullptr) return static_cast<int>(Call(SYS_clock_gettime, id, ts));
  if (id == CLOCK_REALTIME && clocks->delay > 0) {
    const timespec delay{.tv_sec = 0, .tv_nsec = clocks->delay};
    Call(SYS_nanosleep, &delay, nullptr);
  }
  *ts = TimespecOf(Moved(*clocks, id));
  return 0;
}

extern "C" int gettimeofday(timeval* tv, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *tv = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}
