#pragma once

#include <string>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {

// What one connection may send that is client, worker and admin in one; its first job is 1. It
// ends with a packet that closes the connection, and one behind that.
inline std::string Conversation() {
  const std::string workload(300, 'w');
  return "version\r\n" + Req(PacketType::kOptionReq, {"exceptions"}) +
         Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kCanDoTimeout, {"g", "5000"}) +
         Req(PacketType::kPreSleep) + Req(PacketType::kSubmitJob, {"f", "u", workload}) +
         Req(PacketType::kSubmitJobHighBg, {"g", "", "second"}) +
         Req(PacketType::kSubmitJobEpoch, {"g", "e", "4000000000", "later"}) +
         Req(PacketType::kSubmitReduceJob, {"f", "v", "sum", "", "third"}) +
         Req(PacketType::kSubmitJob, {"f", std::string(65, 'u'), workload}) + "status\n" +
         Req(PacketType::kGrabJob) + Req(PacketType::kGrabJobUniq) + Req(PacketType::kGrabJobAll) +
         Req(PacketType::kGrabJob, {"ignored payload"}) +
         Req(PacketType::kWorkStatus, {Handle(1), "1", "2"}) +
         Req(PacketType::kWorkStatus, {Handle(1), "1"}) + Req(PacketType::kGetStatus, {Handle(1)}) +
         Req(PacketType::kGetStatusUnique, {"v"}) +
         Req(PacketType::kWorkData, {Handle(1), "part"}) +
         Req(PacketType::kWorkComplete, {Handle(1), "result"}) +
         Req(PacketType::kWorkException, {Handle(4), "what"}) +
         Req(PacketType::kWorkFail, {Handle(4)}) + Req(PacketType::kWorkFail, {Handle(4)}) +
         Raw(kResponse, 16, 5, "wrong") + Req(PacketType::kNoop, {"not yours"}) +
         Req(PacketType::kStatusResUnique, {"f"}) + Req(PacketType::kAllYours) +
         Req(PacketType::kSetClientId, {"me"}) + "show jobs\r\nnonsense\nworkers\n" +
         Req(PacketType::kEchoReq, {"end"}) + Raw(kRequest, 99, 0) +
         Req(PacketType::kEchoReq, {"abandoned"});
}

}  // namespace gearstalk::gearman
