#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace gearstalk {

// An address of loopback that nobody listens on.
std::string FreeAddress();

// One etcd node of its own cluster, on loopback, in a directory that goes away with it.
class EtcdProcess {
 public:
  // nullptr: there is no etcd on this machine.
  static std::unique_ptr<EtcdProcess> Start(const std::vector<std::string>& more = {});
  ~EtcdProcess();

  const std::string& endpoint() const { return endpoint_; }
  void Signal(int signal) const;

 private:
  EtcdProcess() = default;

  pid_t pid_ = -1;
  std::string directory_;
  std::string endpoint_;
};

}  // namespace gearstalk
