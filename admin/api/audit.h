#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "admin/api/call.h"

namespace gearstalk::api {

// Records acts of operators: each in a line of the log, the last ones in memory for a page.
//
// A caller without the right to act can try as often as it likes, so such refusals are counted: one
// entry stands for all refusals of an act to an address. It has their number, and is as new as the
// last of them. The log and the listener hear of it once a minute. Only the last kRefusedKept of
// these entries are kept, apart from the acts.
//
// Acts over the clients' protocols are kept apart from those of people, too: an application may act
// all day. Within a minute, equal ones are one entry, with their number and the last of their jobs.
// The log has each.
class Audit {
 public:
  static constexpr std::size_t kKept = 1000;
  static constexpr std::size_t kOfClientsKept = 1000;
  static constexpr std::size_t kRefusedKept = 100;

  struct Entry {
    std::uint64_t id = 0;  // rises
    Time at = 0;
    std::string user, role, address;  // user "-": anonymous
    std::string action, tube;
    JobId job = 0;  // 0: none
    std::string filter;
    std::optional<std::uint64_t> count;
    std::uint64_t times = 1;  // acts that it stands for
    std::string result;       // "ok", or the code of a problem
    std::string request;
    bool of_client = false;  // over a client's protocol
    Time told = 0;           // of counted refusals: when log and listener heard of them last
  };

  void Add(const Caller& caller, const Act& act, std::string_view result, std::string_view request,
           Time now);
  // An act over a client's protocol, by a connection with the right `admin`.
  void Add(const Peer& peer, const OperatorAct& act, Time now);
  // The newest entry with a lower id; nullptr: there is none.
  const Entry* Before(std::uint64_t id) const;
  // Called with each new one.
  void Tell(std::function<void(const Entry&)> listener) { listener_ = std::move(listener); }

 private:
  void Add(Entry entry);
  void AddOfClient(Entry entry);
  void Count(Entry entry);
  void Publish(const Entry& entry);

  std::deque<Entry> entries_;     // the newest is the last
  std::deque<Entry> of_clients_;  // likewise
  std::deque<Entry> refused_;     // counted refusals, likewise
  std::uint64_t last_id_ = 0;
  std::function<void(const Entry&)> listener_;
};

Json ObjectOf(const Audit::Entry& entry);

}  // namespace gearstalk::api
