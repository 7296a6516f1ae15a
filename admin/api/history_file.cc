#include "admin/api/history_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "admin/api/history.h"
#include "broker/base/log.h"

namespace gearstalk::api {
namespace {

constexpr std::string_view kMagic = "gearstalk-hist";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kServerSteps = 8640;
constexpr std::size_t kTubeSteps = 720;
constexpr std::size_t kMaxName = 512;

constexpr std::size_t kHeaderSize = 64;
constexpr std::size_t kServerSlot = 8 + 4 * kServerSeries + 4;
constexpr std::size_t kNameSlot = 8 + 2 + kMaxName + 4;
constexpr std::size_t kTubeSlot = 8 + 2 * kTubeSeries * kTubesKept + 4;
constexpr std::size_t kNames = kHeaderSize + kServerSlot * kServerSteps;
constexpr std::size_t kTubes = kNames + kNameSlot * kTubesKept;
constexpr std::size_t kFileSize = kTubes + kTubeSlot * kTubeSteps;
static_assert(kFileSize < 2'000'000);

std::uint32_t CheckOf(std::string_view bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

template <typename Number>
void Append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number Take(std::string_view& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::string Sealed(std::string bytes) {
  Append(bytes, CheckOf(bytes));
  return bytes;
}

// The content of a slot; nullopt: it is empty or damaged.
std::optional<std::string_view> Unsealed(std::string_view slot) {
  std::string_view check = slot.substr(slot.size() - 4);
  slot.remove_suffix(4);
  if (Take<std::uint32_t>(check) != CheckOf(slot)) return std::nullopt;
  return slot;
}

std::string Header() {
  std::string header(kMagic);
  Append(header, kVersion);
  Append(header, static_cast<std::uint32_t>(kFileSize));
  header.resize(kHeaderSize);
  return header;
}

std::uint16_t Half(float number) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(number) + 0x8000U) >> 16);
}

float Whole(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

std::size_t Place(std::int64_t step, std::size_t steps) {
  return static_cast<std::size_t>(step) % steps;
}

void ReadServer(std::string_view file, const HistoryFile::Reader& reader) {
  std::map<std::int64_t, std::vector<float>> found;  // by step
  for (std::size_t i = 0; i < kServerSteps; ++i) {
    auto slot = Unsealed(file.substr(kHeaderSize + i * kServerSlot, kServerSlot));
    if (!slot) continue;
    const auto step = Take<std::int64_t>(*slot);
    std::vector<float> sample;
    while (!slot->empty()) sample.push_back(Take<float>(*slot));
    found.emplace(step, std::move(sample));
  }
  for (const auto& [step, sample] : found) reader.server(step, sample);
}

void ReadTubes(std::string_view file, const HistoryFile::Reader& reader) {
  std::array<std::int64_t, kTubesKept> first{};
  for (std::size_t i = 0; i < kTubesKept; ++i) {
    first[i] = std::numeric_limits<std::int64_t>::max();
    auto slot = Unsealed(file.substr(kNames + i * kNameSlot, kNameSlot));
    if (!slot) continue;
    first[i] = Take<std::int64_t>(*slot);
    const auto size = Take<std::uint16_t>(*slot);
    reader.name(i, slot->substr(0, std::min<std::size_t>(size, kMaxName)));
  }
  std::map<std::int64_t, std::string_view> hours;
  for (std::size_t i = 0; i < kTubeSteps; ++i) {
    auto slot = Unsealed(file.substr(kTubes + i * kTubeSlot, kTubeSlot));
    if (!slot) continue;
    const auto hour = Take<std::int64_t>(*slot);
    hours.emplace(hour, *slot);
  }
  for (auto& [step, bytes] : hours) {
    for (std::size_t i = 0; i < kTubesKept; ++i) {
      std::array<float, kTubeSeries> sample{};
      for (float& number : sample) number = Whole(Take<std::uint16_t>(bytes));
      if (step >= first[i] && !std::isnan(sample[0])) reader.tube(i, step, sample);
    }
  }
}

std::string ReadAll(int fd) {
  std::string bytes(kFileSize + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t part =
        pread(fd, bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    if (part <= 0) break;
    size += static_cast<std::size_t>(part);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::unique_ptr<HistoryFile> HistoryFile::Open(const std::string& path, const Reader& reader) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const auto refused = [&] {
    Log(LogLevel::kWarning, "the history cannot be kept",
        {{"file", path}, {"error", std::strerror(errno)}});
    return nullptr;
  };
  Descriptor fd(open(path.c_str(), kFlags, 0640));
  if (fd < 0) return refused();
  std::string bytes = ReadAll(fd);
  const bool good = bytes.size() == kFileSize && bytes.starts_with(Header());
  if (!good && !bytes.empty()) {
    const std::string aside = path + ".old";
    Log(LogLevel::kWarning, "the history was put aside: it is damaged, or of another version",
        {{"file", aside}, {"error", "-"}});
    if (std::rename(path.c_str(), aside.c_str()) != 0) return refused();
    fd = Descriptor(open(path.c_str(), kFlags, 0640));
    if (fd < 0) return refused();
  }
  if (good) {
    ReadServer(bytes, reader);
    ReadTubes(bytes, reader);
  } else if (ftruncate(fd, kFileSize) != 0 ||
             pwrite(fd, Header().data(), kHeaderSize, 0) != static_cast<ssize_t>(kHeaderSize)) {
    return refused();
  }
  return std::unique_ptr<HistoryFile>(new HistoryFile(std::move(fd)));
}

HistoryFile::HistoryFile(Descriptor fd) : fd_(std::move(fd)) { writer_.Start(1); }

void HistoryFile::Push(std::size_t offset, std::string bytes) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({offset, std::move(bytes)});
  writer_.Wake();
}

// A disk in trouble leaves a gap in the charts.
void HistoryFile::WriteOne(Workers::Lock& lock) {
  const Write write = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  static_cast<void>(
      !pwrite(fd_, write.bytes.data(), write.bytes.size(), static_cast<off_t>(write.offset)));
  lock.lock();
}

void HistoryFile::PutServer(std::int64_t step, std::span<const float> sample) {
  std::string bytes;
  Append(bytes, step);
  for (const float number : sample) Append(bytes, number);
  Push(kHeaderSize + Place(step, kServerSteps) * kServerSlot, Sealed(std::move(bytes)));
}

void HistoryFile::PutName(std::size_t place, std::int64_t first_step, std::string_view name) {
  std::string bytes;
  Append(bytes, first_step);
  Append(bytes, static_cast<std::uint16_t>(name.size()));
  bytes += name.substr(0, kMaxName);
  bytes.resize(kNameSlot - 4);
  Push(kNames + place * kNameSlot, Sealed(std::move(bytes)));
}

void HistoryFile::PutTubes(std::int64_t step, std::span<const float> samples) {
  std::string bytes;
  Append(bytes, step);
  for (const float number : samples) {
    Append(bytes, Half(std::isnan(number) ? std::numeric_limits<float>::quiet_NaN() : number));
  }
  Push(kTubes + Place(step, kTubeSteps) * kTubeSlot, Sealed(std::move(bytes)));
}

}  // namespace gearstalk::api
