#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/move/report.h"
#include "admin/move/transfer_client.h"
#include "broker/journal/record.h"

namespace gearstalk::ctl {

struct TakeOverOptions {
  std::string source, name, ids = "new";
  transfer::Selection selection;
  bool follow = false, settle_only = false, prepare = false, is_volatile = false;
  int wait_s = 0;
  Target target;
  std::function<bool()> stopped = [] { return false; };  // a signal came

  // The server that `source` names.
  Target Old() const { return {.address = AddressOf(source)}; }
};

// The held jobs of the transfer that is open: those of an interrupted run.
Result<std::vector<OwnedRecord>> ReadHeldJobs(TransferClient& broker);

// A server that runs and whose jobs are taken over. One object is one set of connections; after an
// error the next one settles what this one left.
class OldServer {
 public:
  OldServer(const TakeOverOptions& options, Report& report) : options_(options), report_(report) {}
  virtual ~OldServer() = default;

  // Connects to both sides, and settles.
  virtual Status Begin() = 0;
  // Moves what can move now. `moved`: something did.
  virtual Status Round(bool& moved) = 0;
  // After a round that moved nothing: waits until there may be something to move, or so long.
  virtual Status Wait(int ms);
  // Finishes what is in flight, and takes nothing new. False: some of it ends later.
  virtual Result<bool> Finish() = 0;
  // Counts what is left there, and tells the report if `in_report`. Returns how many jobs may come
  // to us when somebody else lets go of them.
  virtual Result<std::uint64_t> CountLeft(bool in_report) = 0;
  Status End();
  // Why Begin failed for good: the broker refuses this transfer.
  bool refused() const { return refused_ || (broker_ != nullptr && broker_->refused()); }
  // The broker refused something that needs a right which this connection does not have.
  bool not_allowed() const { return broker_ != nullptr && broker_->not_allowed(); }

 protected:
  // Connects to the broker and opens the transfer.
  Status OpenTransfer();
  // Chooses the ids of a new transfer.
  virtual Status ChooseIds(transfer::Opening& /*opening*/) { return {}; }
  // kInvalid: the broker is the old server.
  virtual Status CheckBroker() = 0;
  // Whether the mark is of a transfer from this server, at whatever address.
  virtual bool IsOf(const transfer::Mark& mark) const = 0;
  // All is moved: removes what the transfer needed at the old server.
  virtual Status CleanUp() { return {}; }
  Status FindTransfer();
  void AddLeft(const std::string& tube, std::uint64_t jobs, const std::string& why);

  const TakeOverOptions& options_;
  Report& report_;
  std::unique_ptr<TransferClient> broker_;
  transfer::Mark before_;  // the mark when this connection began
  bool refused_ = false;
};

// By the scheme of options.source: one of those below.
std::unique_ptr<OldServer> MakeOldServer(const TakeOverOptions& options, Report& report);
std::unique_ptr<OldServer> MakeBeanstalkTakeOver(const TakeOverOptions& options, Report& report);
std::unique_ptr<OldServer> MakeGearmanTakeOver(const TakeOverOptions& options, Report& report);

}  // namespace gearstalk::ctl
