#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {

inline const std::string kNoJob = Res(PacketType::kNoJob);
inline const std::string kGrab = Req(PacketType::kGrabJob);
inline const std::string kJobNotFound =
    ErrorRes("JOB_NOT_FOUND", "Job given in work result not found");

// A world with a client, and a worker that can do "f".
class WorkerTest : public testing::Test {
 protected:
  void Submit(std::string_view function = "f", std::string_view data = "d") {
    client.Say(Req(PacketType::kSubmitJob, {function, "", data}));
  }
  Connection& Worker(std::string_view function = "f") {
    Connection& connection = world.Connect();
    connection.Say(Req(PacketType::kCanDo, {function}));
    return connection;
  }

  World world;
  Connection& client = world.Connect();
  Connection& worker = Worker();
};

}  // namespace gearstalk::gearman
