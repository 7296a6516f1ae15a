// Moves the clocks of a process that preloads this library by the values in the file that
// GEARSTALK_CLOCKS names. Timeouts in the kernel follow the host's clocks.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

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

std::int64_t Read(clockid_t id) {
  timespec ts{};
  syscall(SYS_clock_gettime, id, &ts);
  return ts.tv_sec * kSecond + ts.tv_nsec;
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

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* ts) noexcept {
  static const Clocks* const clocks = Map();
  if (clocks == nullptr) return static_cast<int>(syscall(SYS_clock_gettime, id, ts));
  if (id == CLOCK_REALTIME && clocks->delay > 0) {
    const timespec delay{.tv_sec = 0, .tv_nsec = clocks->delay};
    syscall(SYS_nanosleep, &delay, nullptr);
  }
  const std::int64_t now = Moved(*clocks, id);
  *ts = {.tv_sec = now / kSecond, .tv_nsec = now % kSecond};
  return 0;
}

extern "C" int gettimeofday(timeval* tv, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *tv = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}
