#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/move/takeover/gearman_table.h"
#include "admin/move/takeover/old_server.h"
#include "admin/move/takeover/relay.h"

namespace gearstalk::ctl {

// What the drains of all functions of one gearmand share.
struct DrainScope {
  const TakeOverOptions& options;
  Report& report;
  TransferClient& broker;
  GearmanClient& admin;
  JobTable& table;
  // A function without jobs, which this life of the old server has in its `status`, and no other.
  std::string life{};
  std::string client_id{};  // of our connections there
  std::string prefix{};     // of the handles, once one was seen
  std::string state{};      // what the mark says of these, for the run that settles
};

// What the held jobs of a take-over from gearmand have for a source id: the number of the handle,
// and what a run that settles them has to know.
struct HeldHandle {
  static constexpr std::uint64_t kGuessed = std::uint64_t{1} << 62;  // the class is a guess
  static constexpr std::uint64_t kShared = std::uint64_t{1} << 61;   // the function had workers
  static constexpr std::uint64_t kNumber = kShared - 1;
};
inline constexpr std::string_view kGuessedText =
    "its priority is a guess: the counts of the old server leave more than one answer";

// The only worker of one function at the old server. Background jobs are held here, completed
// there, and committed; jobs that somebody waits for run here as foreground jobs, and the results
// go back. A connection of its own: CANT_DO would put the jobs in flight back.
class FunctionDrain {
 public:
  static constexpr std::size_t kFirstBatch = 32, kMostBatch = 2048;
  static constexpr std::size_t kMostRelayed = 10'000;

  FunctionDrain(DrainScope& scope, std::string function)
      : scope_(scope), function_(std::move(function)) {}

  Status Begin();
  // Takes at most `waiting` jobs, in batches, until none comes or other functions have their turn.
  Status Drain(std::uint64_t waiting, bool& moved);
  // Passes on what came of the relayed jobs.
  Status Pump(bool& moved);
  // Returns when the old server has read all results. Until then its `status` counts their jobs as
  // running, and a connection that is closed may take them along.
  Status Fence();
  // Asks the old server to wake this connection; adds what to poll for that and for results.
  Status Sleep();
  void AddEnds(std::vector<pollfd>& ends) const;
  std::size_t in_flight() const { return relay_ == nullptr ? 0 : relay_->in_flight(); }
  bool full() const { return relay_ != nullptr && relay_->full(); }

 private:
  struct Grabbed : Assigned {
    std::uint64_t number = 0, here = 0;
    int job_class = 1;
    bool exact = true;  // the class
    bool lost = false;  // the old server did not know it any more
    Record job{};
  };

  Status ReadWakes();
  // Returns how many jobs came.
  Result<std::size_t> Batch(std::size_t most);
  Status Move(std::vector<Grabbed> jobs);
  Result<std::vector<Grabbed>> Grab(std::size_t most);
  Status ReadHandle(Grabbed& job);
  void ChooseBatch(const std::vector<Grabbed>& jobs, std::size_t asked);
  Status Count(std::uint64_t ours);
  Status Classify(std::vector<Grabbed>& jobs);
  Status ClassifyByCounts(std::vector<Grabbed>& jobs);
  Result<bool> SeesOthers();
  Status RelayOne(Grabbed& job, bool background);
  Status RelayForeground(std::vector<Grabbed>& jobs);
  Status NameLife();
  Status HoldAll(std::vector<Grabbed>& jobs);
  Status SendHolds(std::vector<Grabbed>& jobs);
  Status RelayAwaited(std::vector<Grabbed>& jobs);
  Status CompleteAll(std::vector<Grabbed>& jobs);
  Status CommitAll(const std::vector<Grabbed>& jobs);
  // Known jobs and waiting clients of unique keys, in their order.
  Result<std::vector<Packet>> AskUniques(const std::vector<Grabbed*>& jobs);

  DrainScope& scope_;
  const std::string function_;
  std::unique_ptr<GearmanClient> worker_{};
  std::unique_ptr<Relay> relay_{};
  bool asleep_ = false;        // the old server sends NOOP when it has a job
  int vain_wakes_ = 0;         // NOOPs since the last job
  std::uint64_t relayed_ = 0;  // that have ended
  std::size_t batch_ = kFirstBatch;
  std::size_t in_time_ = kMostBatch;     // jobs that the old server completes in kBatchTime
  bool shared_ = false;                  // of the batch: the function has other workers
  std::optional<ClassCounts> counts_{};  // of the waiting jobs
  // Jobs up to this number have one class.
  std::uint64_t newest_alike_ = 0;
  int class_alike_ = 1;
};

}  // namespace gearstalk::ctl
