#pragma once

#include <string>

#include "broker/etcd/caller.h"
#include "broker/replica/log_store.h"

namespace gearstalk::etcd {

// One watch over all keys of a shard: batches, beats and reigns come in the order in which they
// were written. Destroying it ends it without a further call to the watcher.
class Watch {
 public:
  Watch(Caller& caller, std::size_t endpoint, std::string prefix, Revision from,
        LogWatcher& watcher);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  class Stream;
  Stream* stream_;  // destroys itself when gRPC is done with it; nullptr then
};

}  // namespace gearstalk::etcd
