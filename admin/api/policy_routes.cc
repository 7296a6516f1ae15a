#include "admin/api/answers.h"
#include "admin/api/json.h"
#include "admin/api/routes.h"
#include "broker/base/near_names.h"

namespace gearstalk::api {
namespace {

Json ItemOf(const PolicyRules::Line& line) {
  return {{"key", line.key}, {"value", TextOf(line.value)}, {"source", TextOf(line.source)}};
}

Problem NoPolicy(std::string_view key) {
  std::vector<std::string> known;
  for (const PolicyKey& each : PolicyKeys()) known.emplace_back(each.name);
  return {"not-found", "there is no policy '" + TextOf(key) + "'; " + NearNames(key, known)};
}

Reply ItemReply(const Call& call, std::string_view tube, std::string_view key, Lsn lsn) {
  for (const PolicyRules::Line& line : call.engine().policies().Explain(tube)) {
    if (line.key == key) return Reply::Of(ItemOf(line)).Durable(lsn);
  }
  return NoPolicy(key);
}

// A policy also applies to tubes that do not exist yet.
std::optional<std::string> TubeNamed(const Call& call) {
  std::optional<std::string> name = NameOfRef(call.arguments[0]);
  if (!name || name->empty() || !call.caller.grant.Sees(*name)) return std::nullopt;
  return name;
}

Reply Change(Call& call, const std::optional<std::string>& value) {
  const std::optional<std::string> name = TubeNamed(call);
  if (!name) return NoSuch("tube");
  if (auto problem = CheckTubeName(call, *name, "tube")) return std::move(*problem);
  const std::string key = NameOfRef(call.arguments[1]).value_or("");
  if (FindPolicyKey(key) == nullptr) return NoPolicy(key);
  call.act.filter = Dump({{"policy", key}});
  const PolicySet set = call.engine().SetPolicy(call.now, *name, key, value);
  if (set.status.code() == Code::kInvalid) {
    return Problem{"bad-request", set.status.message(), "value"};
  }
  if (!set.status.ok()) return RefusalOf(set.status.code(), *name);
  return ItemReply(call, *name, key, set.lsn);
}

}  // namespace

Reply GetPolicy(Call& call) {
  const std::optional<std::string> name = TubeNamed(call);
  if (!name) return NoSuch("tube");
  Json items = Json::array();
  for (const PolicyRules::Line& line : call.engine().policies().Explain(*name)) {
    items.push_back(ItemOf(line));
  }
  return Reply::Of({{"items", std::move(items)}});
}

Reply SetPolicy(Call& call) {
  const Json* const given = call.fields.Raw("value");
  const bool number = given != nullptr && given->is_number_unsigned();
  const std::string value =
      number ? given->dump() : call.fields.Needed("value", call.fields.Text("value")).value_or("");
  if (!call.fields.Finish()) return call.fields.problem();
  return Change(call, value);
}

Reply ResetPolicy(Call& call) { return Change(call, std::nullopt); }

}  // namespace gearstalk::api
