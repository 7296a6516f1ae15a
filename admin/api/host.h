#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "admin/metrics/server_facts.h"

namespace gearstalk::api {

// What the API needs of the server around the engine.
class Host {
 public:
  // The time of this round; of the slice that runs.
  virtual Time Now() const = 0;
  virtual ServerFacts Facts() const = 0;
  // Reserves a transfer until GiveTransfer. False: it is in use.
  virtual bool TakeTransfer(const std::string& name) = 0;
  virtual void GiveTransfer(const std::string& name) = 0;
  virtual std::string_view LogLevelName() const = 0;
  // Holds until the configuration is read again.
  virtual void SetLogLevel(std::string_view level) = 0;
  // Closes a client's connection at the end of the round, if it is this one.
  virtual void CloseConnection(int fd, std::uint64_t id) = 0;

 protected:
  ~Host() = default;
};

}  // namespace gearstalk::api
