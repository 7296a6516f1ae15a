// The least that durable operations cost: records appended to a file by connections that need no
// time of their own. Each of them waits until its record is on disk and then has the next one; what
// gathers while a sync runs goes with the next.

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace gearstalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string file;
  std::uint64_t connections = 1;
  std::uint64_t record = 132;
  double seconds = 1;
  bool written = false;
};

// The blocks that --written goes over again and again.
constexpr std::uint64_t kWrittenBytes = 16 << 20;

void Check(bool done, const std::string& file) {
  if (done) return;
  std::perror(file.c_str());
  std::exit(1);
}

class Log {
 public:
  explicit Log(const Options& options)
      : options_(options),
        fd_(::open(options.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        group_(options.connections * options.record, 'x') {
    Check(fd_ >= 0, options.file);
    if (options.written) Fill();
  }
  ~Log() {
    ::close(fd_);
    ::unlink(options_.file.c_str());
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Append(std::uint64_t records) {
    const std::uint64_t size = records * options_.record;
    if (options_.written && offset_ + size > kWrittenBytes) offset_ = 0;
    Write(offset_, size);
    Check(::fdatasync(fd_) == 0, options_.file);
    offset_ += size;
  }

 private:
  void Write(std::uint64_t offset, std::uint64_t size) {
    const ssize_t put = ::pwrite(fd_, group_.data(), size, static_cast<off_t>(offset));
    Check(put == static_cast<ssize_t>(size), options_.file);
  }
  void Fill() {
    for (std::uint64_t at = 0; at < kWrittenBytes; at += group_.size()) Write(at, group_.size());
    Check(::fsync(fd_) == 0, options_.file);
  }

  const Options& options_;
  const int fd_;
  const std::string group_;
  std::uint64_t offset_ = 0;
};

struct Counts {
  std::uint64_t records = 0, syncs = 0;
};

class Floor {
 public:
  explicit Floor(const Options& options) : log_(options), gathered_(options.connections) {}

  Counts Run(Clock::duration time) {
    std::thread disk(&Floor::Sync, this);
    Gather(Clock::now() + time);
    disk.join();
    return counts_;
  }

 private:
  // Whoever was answered has the next record at once.
  void Gather(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    while (Clock::now() < end) {
      answered_now_.wait(lock, [this] { return answered_ > 0; });
      gathered_ += answered_;
      answered_ = 0;
      gathered_now_.notify_one();
    }
    over_ = true;
    gathered_now_.notify_one();
  }

  void Sync() {
    std::unique_lock lock(mutex_);
    while (true) {
      gathered_now_.wait(lock, [this] { return over_ || gathered_ > 0; });
      if (over_) return;
      const std::uint64_t group = gathered_;
      gathered_ = 0;
      lock.unlock();
      log_.Append(group);
      lock.lock();
      counts_.records += group;
      ++counts_.syncs;
      answered_ += group;
      answered_now_.notify_one();
    }
  }

  Log log_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable gathered_now_, answered_now_;
  std::uint64_t gathered_, answered_ = 0;  // connections, by what they wait for
  bool over_ = false;
  Counts counts_;
};

Options Parse(int argc, char** argv) {
  Options options;
  CLI::App app("Appends records to a file in groups and prints how many got to the disk.", "floor");
  app.add_option("file", options.file, "is made for it and removed again")->required();
  app.add_option("--connections", options.connections, "how many records are under way");
  app.add_option("--record", options.record, "bytes of each");
  app.add_option("--seconds", options.seconds, "how long");
  app.add_flag("--written", options.written, "over blocks that were written before");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace
}  // namespace gearstalk::bench

int main(int argc, char** argv) {
  using gearstalk::bench::Clock;
  const gearstalk::bench::Options options = gearstalk::bench::Parse(argc, argv);
  const auto time =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  const auto counts = gearstalk::bench::Floor(options).Run(time);
  const nlohmann::ordered_json report = {
      {"ops", counts.records},
      {"syncs", counts.syncs},
      {"ops_per_second", static_cast<double>(counts.records) / options.seconds}};
  std::cout << report << std::endl;
  return 0;
}
