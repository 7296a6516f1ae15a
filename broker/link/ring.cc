#include "broker/link/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace gearstalk::link {
namespace {

Status Failed(std::string_view call) {
  return {Code::kIo, std::string(call) + ": " + std::strerror(errno)};
}

}  // namespace

Result<int> Ring::MakeMemory() {
  const int memory = memfd_create("gearstalkd-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) return Failed("memfd_create");
  if (ftruncate(memory, 2 * kStored) == 0 &&
      fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return memory;
  }
  Status failed = Failed("its memory");
  close(memory);
  return failed;
}

Result<Ring> Ring::Map(int memory, std::size_t which) {
  void* const mapped = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Failed("mmap");
  Ring ring(mapped);
  const auto map = [&](std::size_t at, std::size_t size, std::size_t from) {
    return mmap(static_cast<char*>(mapped) + at, size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, memory,
                static_cast<off_t>(which * kStored + from)) != MAP_FAILED;
  };
  if (!map(0, kStored, 0) || !map(kStored, kSize, kPage)) return Failed("mmap");
  return ring;
}

void Ring::Unmap::operator()(void* mapped) const { munmap(mapped, kMapped); }

}  // namespace gearstalk::link
