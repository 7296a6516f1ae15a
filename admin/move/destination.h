#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "admin/move/transfer_client.h"
#include "broker/base/status.h"
#include "broker/journal/record.h"

namespace gearstalk::ctl {

// A job that hand-back holds.
struct Moving {
  OwnedRecord job;
  std::string left{};     // not empty: why it stays here
  std::string altered{};  // not empty: how the one that is there now differs
};

// The server that hand-back moves jobs to.
class Destination {
 public:
  using Jobs = std::span<Moving* const>;

  virtual ~Destination() = default;
  // An error: it is no such server, or it is the broker at `here`.
  virtual Status Greet(const Target& here) = 0;
  // Pauses a tube there. Where that cannot be, its jobs cannot go.
  virtual Status Pause(const std::string& tube, std::uint64_t seconds) = 0;
  // Why a job cannot go; empty: it can.
  std::string WhyNot(const Record& job) const;
  // A client of the other protocol made the job. For people: what that means there.
  virtual std::string_view Foreign(const Record& job) const = 0;
  // Puts jobs that can go, and sets `left` of those that the server refuses, and `altered`. After
  // an error it is unknown which arrived.
  virtual Status Put(Jobs jobs) = 0;
  // Why the server takes no more jobs of any kind.
  virtual Status Closed() const { return {}; }

 protected:
  virtual std::string WhyRefused(const Record& job) const = 0;
  void Keep(const std::string& tube, std::string why) { kept_[tube] = std::move(why); }

 private:
  std::map<std::string, std::string, std::less<>> kept_;  // why the jobs of a tube stay here
};

// Connects to the server that `url` names. `classes`: what the broker reads priorities as.
Result<std::unique_ptr<Destination>> ConnectDestination(const std::string& url,
                                                        const Classes& classes);

}  // namespace gearstalk::ctl
