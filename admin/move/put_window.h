#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "admin/move/transfer_client.h"

namespace gearstalk::ctl {

// Sends requests that each settle one job of a source, several windows at the same time, and
// repeats those that the broker could not take for now.
class PutWindows {
 public:
  // So many windows are under way at most. A broker has other clients, who wait for the disk, too;
  // a journal that this process has opened itself is written the faster the less often it is
  // synced.
  static constexpr std::size_t kToBroker = 4, kToJournal = 32;

  // Place in the source (from 1), and the id here.
  using OnPut = std::function<void(std::uint64_t, std::uint64_t)>;
  // Called now and then while the broker takes nothing, with the reason.
  using OnBusy = std::function<void(const std::string&)>;

  // `settled`: what the mark says.
  PutWindows(TransferClient& client, std::size_t most, std::uint64_t settled, OnPut on_put,
             OnBusy on_busy)
      : client_(client),
        most_(most),
        acknowledged_(settled),
        on_put_(std::move(on_put)),
        on_busy_(std::move(on_busy)) {}

  // Settles the next job: with a put, or with an outcome.
  Status AddPut(const Record& job, const transfer::Item& item);
  Status AddOutcome(const transfer::Mark& change);
  // Sends what was added, and waits until all of it is done.
  Status Finish();
  // Waits until all that was sent is done.
  Status Await();
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  static constexpr std::size_t kJobs = 1024, kBytes = 4 << 20;
  static constexpr std::size_t kBytesUnderWay = 16 << 20;
  static constexpr int kPatience = 60;  // seconds that the broker may be busy

  struct Window {
    std::string frames;
    std::vector<std::size_t> ends;  // of each request in `frames`
    std::vector<bool> puts;
    bool sent = false;
  };

  Window& Current();
  // A request was appended to the frames of the current window. `put`: its answer has an id.
  Status Added(bool put);
  Status SendLast();
  Status Send(const Window& window);
  Status ReadOldest();
  Status Again(const transfer::Ack& problem);
  void Drop(Window& window, const transfer::Ack& ack);

  TransferClient& client_;
  transfer::RecordFrames frames_;
  const std::size_t most_;
  std::size_t bytes_ = 0;  // of the windows
  std::uint64_t acknowledged_;
  const OnPut on_put_;
  const OnBusy on_busy_;
  std::deque<Window> windows_;  // not acknowledged
};

}  // namespace gearstalk::ctl
