#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "broker/base/descriptor.h"
#include "broker/base/threads.h"

namespace gearstalk::api {

// Keeps the thirty days of a History over restarts, in a file of fixed size below 2 MB:
//   header     magic, version, sizes; a file with another one is put aside
//   server     a slot for each step of five minutes: step, numbers, checksum
//   names      a slot for each place of a tube: first step that is its, name, checksum
//   tubes      a slot for each hour: step, the numbers of all places in two bytes each, checksum
// Slots with a wrong checksum are empty. A thread of its own writes; what is lost in a crash is
// the last step. Numbers of tubes keep the upper half of their bits, three digits.
class HistoryFile {
 public:
  // What is read back, in no order of steps.
  struct Reader {
    std::function<void(std::int64_t step, std::span<const float> sample)> server;
    std::function<void(std::size_t place, std::string_view name)> name;
    std::function<void(std::size_t place, std::int64_t step, std::span<const float> sample)> tube;
  };

  // Opens the file or makes it. nullptr, with a warning in the log: it cannot be used.
  static std::unique_ptr<HistoryFile> Open(const std::string& path, const Reader& reader);
  // Writes what is waiting.
  ~HistoryFile() { writer_.Work(); }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void PutServer(std::int64_t step, std::span<const float> sample);
  void PutName(std::size_t place, std::int64_t first_step, std::string_view name);
  // `samples`: of all places, one behind the other.
  void PutTubes(std::int64_t step, std::span<const float> samples);

 private:
  struct Write {
    std::size_t offset;
    std::string bytes;
  };

  explicit HistoryFile(Descriptor fd);
  void Push(std::size_t offset, std::string bytes);
  void WriteOne(Workers::Lock& lock);

  const Descriptor fd_;
  std::mutex mutex_;
  std::deque<Write> waiting_;
  Workers writer_{mutex_, [this] { return !waiting_.empty(); },
                  [this](Workers::Lock& lock) { WriteOne(lock); }};
};

}  // namespace gearstalk::api
