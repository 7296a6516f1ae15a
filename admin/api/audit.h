#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "admin/api/call.h"

namespace gearstalk::api {

// Records acts of operators: each in a line of the log, the last ones in memory for a page.
class Audit {
 public:
  static constexpr std::size_t kKept = 1000;

  struct Entry {
    std::uint64_t id = 0;  // rises
    Time at = 0;
    std::string user, role, address;  // user "-": anonymous
    std::string action, tube;
    JobId job = 0;  // 0: none
    std::string filter;
    std::optional<std::uint64_t> count;
    std::string result;  // "ok", or the code of a problem
    std::string request;
    bool of_client = false;  // over a client's protocol
  };

  void Add(const Caller& caller, const Act& act, std::string_view result, std::string_view request,
           Time now);
  // An act over a client's protocol, by a connection with the right `admin`.
  void Add(const Peer& peer, const OperatorAct& act, Time now);
  void Add(Entry entry);
  // The newest is the last.
  const std::deque<Entry>& entries() const { return entries_; }
  // Called with each new one.
  void Tell(std::function<void(const Entry&)> listener) { listener_ = std::move(listener); }

 private:
  std::deque<Entry> entries_;
  std::uint64_t last_id_ = 0;
  std::function<void(const Entry&)> listener_;
};

Json ObjectOf(const Audit::Entry& entry);

}  // namespace gearstalk::api
