#include "admin/ctl/same_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include "admin/ctl/gearman_table.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

Status Same(const std::string& one, const Target& other) {
  return {Code::kInvalid, fmt::format("{} and {} are one server", one, other.address)};
}

}  // namespace

Status RefuseSame(BeanstalkClient& there, const Target& here) {
  Result<std::unique_ptr<Channel>> channel = Connect(here);
  if (!channel.ok()) return channel.status();
  BeanstalkClient other(std::move(channel.value()));
  const Result<Yaml> stats = other.AskYaml("stats");
  if (!stats.ok()) return stats.status();
  const std::string_view id = stats.value().Get("id");
  if (id.empty()) return {};
  const Result<Yaml> same = there.AskStats();
  if (!same.ok()) return same.status();
  return same.value().Get("id") == id ? Same(there.Name(), here) : Status();
}

Status RefuseSame(GearmanClient& there, const Target& here) {
  const std::string id = fmt::format("gearstalkctl-{}-{}", getpid(), SystemClock().Now());
  there.Add(packet::kSetClientId, {id});
  if (Status status = there.Fence(); !status.ok()) return status;
  Result<std::unique_ptr<GearmanClient>> other = GearmanClient::Connect(here);
  // A broker that speaks no Gearman at this address; nor does the server there.
  if (!other.ok() && other.status().code() == Code::kInvalid) return {};
  if (!other.ok()) return other.status();
  const Result<bool> listed = ListsClient(*other.value(), id);
  // Refused: a broker does not tell strangers who is connected.
  if (!listed.ok()) return listed.status().code() == Code::kNotFound ? Status() : listed.status();
  return listed.value() ? Same(there.Name(), here) : Status();
}

}  // namespace gearstalk::ctl
