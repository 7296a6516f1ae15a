#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/call.h"
#include "admin/http/answer.h"
#include "admin/http/slices.h"

namespace gearstalk::api {

class Feed;

// Server-sent events: sends each stream the changes of the last second, in slices.
class Events final : public SliceWork {
 public:
  static constexpr std::size_t kStreams = 32;
  static constexpr std::size_t kStreamsOfCaller = 8;

  struct Topics {
    bool server = false, tube = false, operation = false, audit = false, notice = false;
    std::vector<std::string> tubes;  // names
  };

  explicit Events(const Services& services) : services_(services) {}
  ~Events();

  // nullptr: too many streams are open.
  std::unique_ptr<HttpFeed> Open(const Caller& caller, Topics topics);
  // Sends a notice to all streams.
  void Notice(std::string_view level, std::string_view code, std::string_view text);
  bool Heard() const { return !feeds_.empty(); }  // whether there are streams
  void OnAudit(const Json& entry);

  // Every round; returns when the next one is wanted at latest.
  Time Tick(Time now);
  // Serves one stream.
  bool RunSlice(Time now) override;

  // --- For feeds
  void Begin(Feed& feed) { feeds_.push_back(&feed); }
  void End(Feed& feed);
  std::uint64_t NextId() { return ++last_id_; }

 private:
  void LookForNotices();
  void SendOperations();

  const Services& services_;
  std::vector<Feed*> feeds_;
  std::size_t open_ = 0;
  std::map<std::string, std::size_t> open_of_;         // by Caller::key()
  std::vector<Feed*> turn_;                            // that are still to be served this second
  std::string server_;                                 // the server object of this second
  std::map<std::uint64_t, std::uint64_t> operations_;  // versions that were told, by id
  std::uint64_t last_id_ = 0;
  Time next_ = 0;
  bool failed_ = false, full_ = false, low_ = false, draining_ = false;
  std::uint64_t disk_mark_ = 0;  // of DiskSpace, as last told
  bool looked_ = false;

  friend class Feed;
};

}  // namespace gearstalk::api
