#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/channel.h"

namespace gearstalk::ctl {

// Types of packets that the tool uses.
namespace packet {
inline constexpr std::uint32_t kCanDo = 1, kCantDo = 2, kPreSleep = 4, kNoop = 6, kSubmit = 7,
                               kJobCreated = 8, kNoJob = 10, kWorkStatus = 12, kWorkComplete = 13,
                               kWorkFail = 14, kGetStatus = 15, kEchoReq = 16, kEchoRes = 17,
                               kSubmitBg = 18, kError = 19, kStatusRes = 20, kSubmitHigh = 21,
                               kSetClientId = 22, kWorkException = 25, kOptionReq = 26,
                               kWorkData = 28, kWorkWarning = 29, kGrabJobUniq = 30,
                               kJobAssignUniq = 31, kSubmitHighBg = 32, kSubmitLow = 33,
                               kSubmitLowBg = 34, kSubmitEpoch = 36, kSubmitReduce = 37,
                               kSubmitReduceBg = 38, kGrabJobAll = 39, kJobAssignAll = 40,
                               kGetStatusUnique = 41, kStatusResUnique = 42;
}  // namespace packet

struct Packet {
  std::uint32_t type = 0;
  std::vector<std::string> arguments;  // the last one may hold NULs
};

// A job that a worker got.
struct Assigned {
  std::string handle{}, function{}, unique{}, body{};
  std::string reducer{};  // empty: it is no reduce job
};
// What GRAB_JOB_ALL brought. False: no job.
bool TakeAssigned(Packet& packet, Assigned& job);

// A client or worker of a gearmand. Packets gather and go with the first read or Flush.
class GearmanClient : public Client {
 public:
  // Connects and asks for an echo. kInvalid: what answers is no Gearman server.
  static Result<std::unique_ptr<GearmanClient>> Connect(const Target& target);
  using Client::Client;

  void Add(std::uint32_t type, const std::vector<std::string_view>& arguments);
  // After its answer, the server has done everything before it. Other packets are dropped.
  Status Fence();
  // The next packet. kNotFound: none came in time. Without a time, silence for kSilenceMs is an
  // error.
  Result<Packet> Next(int timeout_ms = -1);
  // An admin line, and what comes up to the line "." (or one line, if `table` is false).
  // kNotFound: the server refuses the line.
  Result<std::vector<std::string>> Admin(std::string_view line, bool table = true);
  // Whether `workers` has a connection with this SET_CLIENT_ID.
  Result<bool> Lists(const std::string& client_id);
  // kInvalid: the server is the one at `here`, whatever its addresses are, so jobs would be moved
  // from it to itself without end. A Gearman server says so by the connections that it lists.
  Status RefuseSame(const Target& here);

 private:
  Status Greet();
  Result<bool> TakePacket(Packet& packet);
};

// gearmand keeps 64 bytes of a unique key, of which the last is a NUL; in JOB_ASSIGN_UNIQ that one
// cannot be told from the first byte of a body behind a key of 63 bytes. Takes it from the bodies
// of the jobs to which it does not belong: `server`, which gave them, does not know their keys of
// 63 bytes.
Status FixCutKeys(GearmanClient& server, const std::vector<Assigned*>& jobs);

}  // namespace gearstalk::ctl
