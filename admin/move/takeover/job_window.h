#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admin/move/beanstalk_client.h"
#include "admin/move/takeover/old_server.h"

namespace gearstalk::ctl {

// What the parts of a take-over from beanstalkd share.
struct MoveScope {
  const TakeOverOptions& options;
  Report& report;
  BeanstalkClient& old;
  TransferClient& broker;
  bool keep_ids = false;
  bool deletes_delayed = true;  // the old server
  // Held jobs that could not be deleted there: the rules of an interruption decide about them.
  std::uint64_t missed = 0;
};

// Jobs of a beanstalkd that move together. Each step is a request and, apart from it, the reading
// of its answers, so that both servers have work while the answers about one window are under way.
// Answers of one server are read in the order of the requests, whatever their window is.
class JobWindow {
 public:
  // Its body lives until the window is over.
  struct InFlight {
    Record job;
    std::string tube, body;
    std::uint64_t here = 0;  // id of the held job
    bool dropped = false;
  };

  explicit JobWindow(MoveScope& scope) : scope_(scope) {}

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  std::size_t bytes() const;  // of the bodies
  std::vector<InFlight>& jobs() { return jobs_; }
  void Add(std::uint64_t id, std::string body = {});
  void Add(InFlight job) { jobs_.push_back(std::move(job)); }

  // At most so many that are ready. As each comes, its description is asked for.
  void Reserve(std::size_t most);
  Status ReadReserved();
  // Asks for something about each job: `command` is what stands before its id.
  void Ask(std::string_view command);
  // Jobs that are in no state of `states` any more leave the window.
  Status ReadDescribed(std::string_view states);
  Status ReadPeeked();

  Status Hold(Record::Held phase);
  Status ReadHeld();
  void Bury();
  Status ReadBuried();
  Status Confirm();
  Status ReadAck();
  Status ReadDeleted();
  Status Commit();
  Status ReadCommitted();
  Status CommitNow();  // both

  // All steps in turn. MoveReserved is for jobs that this tool has reserved; MoveQuiet for jobs
  // that it does not reserve, which are held in phase 2 at once.
  Status MoveReserved();
  Status MoveQuiet(std::string_view states);
  // Those of MoveQuiet up to the hold.
  Status HoldQuiet(std::string_view states);

 private:
  Status DeleteAndCommit();
  void TakeDescription(InFlight& each, const Yaml& yaml, Time now);
  void Forget();  // those that are dropped

  MoveScope& scope_;
  std::vector<InFlight> jobs_;
  std::vector<std::uint64_t> lost_;  // ids of held jobs
  std::size_t asked_ = 0;
  bool awaits_ack_ = false;
  transfer::Ack ack_;
};

}  // namespace gearstalk::ctl
