#include "admin/api/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "broker/base/log.h"

namespace gearstalk::api {
namespace {

constexpr Time kToldAgain = 60 * kSecond;
constexpr Time kTogether = 60 * kSecond;

std::string_view OrDash(std::string_view text) { return text.empty() ? "-" : text; }

void WriteLine(const Audit::Entry& entry) {
  const std::string job = entry.job == 0 ? "-" : fmt::format("{}", entry.job);
  const std::string count = entry.count ? fmt::format("{}", *entry.count) : "-";
  // Clients can cause refused acts, and acts over the old protocols, at any rate: the log limits
  // those.
  const auto log = entry.result == "ok" && !entry.of_client ? Log : LogOfClient;
  log(LogLevel::kInfo, "operator act",
      {{"user", OrDash(entry.user)},
       {"role", OrDash(entry.role)},
       {"address", OrDash(entry.address)},
       {"action", OrDash(entry.action)},
       {"tube", OrDash(entry.tube)},
       {"job", job},
       {"filter", OrDash(entry.filter)},
       {"count", count},
       {"result", OrDash(entry.result)},
       {"request", OrDash(entry.request)}});
}

bool IsLike(const Audit::Entry& a, const Audit::Entry& b) {
  return a.action == b.action && a.tube == b.tube && a.result == b.result && a.user == b.user &&
         a.address == b.address && a.filter == b.filter;
}

}  // namespace

void Audit::Add(const Caller& caller, const Act& act, std::string_view result,
                std::string_view request, Time now) {
  Entry entry{.at = now,
              .user = caller.user.empty() ? "-" : caller.user,
              .role = std::string(NameOf(caller.grant.role)),
              .address = caller.address,
              .action = std::string(act.action),
              .tube = act.tube,
              .job = act.job,
              .filter = act.filter,
              .count = act.count,
              .result = std::string(result),
              .request = std::string(request)};
  const bool stranger = caller.grant.role == Role::kNone && result != "ok";
  stranger ? Count(std::move(entry)) : Add(std::move(entry));
}

void Audit::Add(const Peer& peer, const OperatorAct& act, Time now) {
  const bool forbidden = act.result == "forbidden";
  Entry entry{.at = now,
              .user = peer.certificate.empty() ? "-" : peer.certificate,
              .role = forbidden ? "" : "admin",
              .address = peer.address,
              .action = std::string(act.action),
              .tube = std::string(act.tube),
              .job = act.job,
              .filter = act.subject.empty() ? std::string()
                                            : Dump({{std::string(act.subject), TextOf(act.name)}}),
              .count = act.count,
              .result = std::string(act.result),
              .request = fmt::format("connection-{}", peer.id),
              .of_client = true};
  forbidden ? Count(std::move(entry)) : AddOfClient(std::move(entry));
}

void Audit::AddOfClient(Entry entry) {
  WriteLine(entry);
  auto same = of_clients_.rbegin();
  while (same != of_clients_.rend() && entry.at - same->at < kTogether && !IsLike(entry, *same)) {
    ++same;
  }
  if (same == of_clients_.rend() || entry.at - same->at >= kTogether) {
    entry.id = ++last_id_;
    of_clients_.push_back(std::move(entry));
    if (of_clients_.size() > kOfClientsKept) of_clients_.pop_front();
    same = of_clients_.rbegin();
  } else {
    ++same->times;
    same->job = entry.job;
    if (entry.count) same->count = same->count.value_or(0) + *entry.count;
    same->request = std::move(entry.request);
  }
  if (listener_) listener_(*same);
}

void Audit::Add(Entry entry) {
  entry.id = ++last_id_;
  entries_.push_back(std::move(entry));
  if (entries_.size() > kKept) entries_.pop_front();
  Publish(entries_.back());
}

void Audit::Count(Entry entry) {
  const auto same = std::find_if(refused_.begin(), refused_.end(), [&](const Entry& each) {
    return each.address == entry.address && each.action == entry.action &&
           each.result == entry.result && each.of_client == entry.of_client;
  });
  entry.id = ++last_id_;
  entry.count = 1;
  if (same != refused_.end()) {
    entry.count = *same->count + 1;
    entry.told = same->told;
    refused_.erase(same);
  }
  refused_.push_back(std::move(entry));
  if (refused_.size() > kRefusedKept) refused_.pop_front();
  Entry& counted = refused_.back();
  if (counted.told != 0 && counted.at - counted.told < kToldAgain) return;
  counted.told = counted.at;
  Publish(counted);
}

void Audit::Publish(const Entry& entry) {
  WriteLine(entry);
  if (listener_) listener_(entry);
}

const Audit::Entry* Audit::Before(std::uint64_t id) const {
  const Entry* newest = nullptr;
  for (const auto* entries : {&entries_, &of_clients_, &refused_}) {
    const auto behind =
        std::lower_bound(entries->begin(), entries->end(), id,
                         [](const Entry& each, std::uint64_t wanted) { return each.id < wanted; });
    if (behind == entries->begin()) continue;
    const Entry& last = *std::prev(behind);
    if (newest == nullptr || newest->id < last.id) newest = &last;
  }
  return newest;
}

Json ObjectOf(const Audit::Entry& entry) {
  return {{"id", entry.id},
          {"at", Timestamp(entry.at)},
          {"user", TextOrNull(entry.user == "-" ? "" : entry.user)},
          {"role", TextOrNull(entry.role)},
          {"address", TextOrNull(entry.address)},
          {"action", TextOrNull(entry.action)},
          {"tube", TextOrNull(entry.tube)},
          {"job", OrNull(entry.job != 0, entry.job)},
          {"filter", entry.filter.empty() ? Json() : Json::parse(entry.filter, nullptr, false)},
          {"count", OrNull(entry.count)},
          {"times", entry.times},
          {"result", entry.result},
          {"request_id", TextOrNull(entry.request)}};
}

}  // namespace gearstalk::api
