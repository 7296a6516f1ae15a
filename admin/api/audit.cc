#include "admin/api/audit.h"

#include <fmt/format.h>

#include "broker/base/log.h"

namespace gearstalk::api {
namespace {

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

}  // namespace

void Audit::Add(const Caller& caller, const Act& act, std::string_view result,
                std::string_view request, Time now) {
  Add({.at = now,
       .user = caller.user.empty() ? "-" : caller.user,
       .role = std::string(NameOf(caller.grant.role)),
       .address = caller.address,
       .action = std::string(act.action),
       .tube = act.tube,
       .job = act.job,
       .filter = act.filter,
       .count = act.count,
       .result = std::string(result),
       .request = std::string(request),
       .of_client = false});
}

void Audit::Add(const Peer& peer, const OperatorAct& act, Time now) {
  Add({.at = now,
       .user = peer.certificate.empty() ? "-" : peer.certificate,
       .role = act.result == "forbidden" ? "" : "admin",
       .address = peer.address,
       .action = std::string(act.action),
       .tube = std::string(act.tube),
       .job = act.job,
       .filter = act.subject.empty() ? std::string()
                                     : Dump({{std::string(act.subject), TextOf(act.name)}}),
       .count = act.count,
       .result = std::string(act.result),
       .request = fmt::format("connection-{}", peer.id),
       .of_client = true});
}

void Audit::Add(Entry entry) {
  entry.id = ++last_id_;
  WriteLine(entry);
  entries_.push_back(std::move(entry));
  if (entries_.size() > kKept) entries_.pop_front();
  if (listener_) listener_(entries_.back());
}

Json ObjectOf(const Audit::Entry& entry) {
  const auto text = [](const std::string& word) {
    return word.empty() ? Json() : Json(TextOf(word));
  };
  return {{"id", entry.id},
          {"at", Timestamp(entry.at)},
          {"user", entry.user == "-" ? Json() : text(entry.user)},
          {"role", text(entry.role)},
          {"address", text(entry.address)},
          {"action", text(entry.action)},
          {"tube", text(entry.tube)},
          {"job", entry.job == 0 ? Json() : Json(entry.job)},
          {"filter", entry.filter.empty() ? Json() : Json::parse(entry.filter, nullptr, false)},
          {"count", entry.count ? Json(*entry.count) : Json()},
          {"result", entry.result},
          {"request_id", text(entry.request)}};
}

}  // namespace gearstalk::api
