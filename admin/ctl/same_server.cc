#include "admin/ctl/same_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include "admin/ctl/gearman_table.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

Status Same(const std::string& one, const Target& other) {
  return {Code::kInvalid, fmt::format("{} and {} are one server", one, other.address)};
}

}  // namespace

Status RefuseSame(BeanstalkClient& there, const Target& here) {
  std::unique_ptr<Channel> channel = GS_TRY(Connect(here));
  BeanstalkClient other(std::move(channel));
  const Yaml stats = GS_TRY(other.AskYaml("stats"));
  const std::string_view id = stats.Get("id");
  if (id.empty()) return {};
  const Yaml same = GS_TRY(there.AskStats());
  return same.Get("id") == id ? Same(there.Name(), here) : Status();
}

Status RefuseSame(GearmanClient& there, const Target& here) {
  const std::string id = fmt::format("gearstalkctl-{}-{}", getpid(), SystemClock().Now());
  there.Add(packet::kSetClientId, {id});
  GS_TRY(there.Fence());
  Result<std::unique_ptr<GearmanClient>> other = GearmanClient::Connect(here);
  // A broker that speaks no Gearman at this address; nor does the server there.
  if (!other.ok() && other.status().code() == Code::kInvalid) return {};
  GS_TRY(StatusOf(other));
  const Result<bool> listed = ListsClient(*other.value(), id);
  // Refused: a broker does not tell strangers who is connected.
  if (!listed.ok()) return listed.status().code() == Code::kNotFound ? Status() : listed.status();
  return listed.value() ? Same(there.Name(), here) : Status();
}

}  // namespace gearstalk::ctl
