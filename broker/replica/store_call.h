#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broker/base/status.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

// Calls a store and blocks until the answer: for tools, which have no loop.
class StoreCalls {
 public:
  explicit StoreCalls(LogStore& store) : store_(store) {}

  Status Open();
  Result<LogView> Look();
  Result<std::vector<LogPart>> Read(std::uint64_t from, Revision at);
  Result<LogStore::Acquired> Acquire(const LogView& seen, const Reign& reign);
  Status Append(Revision fence, std::uint64_t seq, const std::string& bytes, std::uint64_t oldest);
  Status Release(Revision fence, const Reign& reign);
  Status ReplaceMeta(Revision seen, const ShardMeta& meta);

  const StoreWords& words() const { return store_.Words(); }

  // Beats from now on while it waits.
  void BeatFor(Revision fence, const Reign& reign);

 private:
  // `call` gets the callback for the answer. An error: there was no answer in time.
  Status Wait(const std::function<void(LogStore::Done)>& call);
  // The same for an answer with a value.
  template <typename T>
  Result<T> WaitFor(const std::function<void(std::function<void(StoreResult, T)>)>& call);
  void BeatIfDue(Time now);

  LogStore& store_;
  Revision fence_ = 0;
  Reign reign_;
  Time next_beat_ = kNever;
};

}  // namespace gearstalk
