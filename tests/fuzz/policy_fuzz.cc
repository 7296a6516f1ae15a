// What operators write into policies and schedules, and what producers write into bodies that have
// a key: a good value is printed as one that reads the same, and a plan only goes forward.

#include <cstddef>
#include <string>

#include "broker/policy/body_key.h"
#include "broker/policy/cron.h"
#include "broker/policy/duration.h"
#include "broker/policy/policy.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk {
namespace {

constexpr std::int64_t kFrom = 1'700'000'000;

void CheckPlan(const Result<Cron>& cron) {
  if (!cron.ok()) return;
  static const TimeZone zone = FindTimeZone("Europe/Berlin").value();
  std::int64_t at = kFrom;
  for (int i = 0; i < 3; ++i) {
    const auto next = cron.value().Next(at, zone);
    if (!next.has_value()) return;
    GS_CHECK(*next > at);
    at = *next;
  }
}

void CheckDuration(std::string_view text) {
  const std::optional<Time> duration = ParseDuration(text);
  if (!duration.has_value()) return;
  GS_CHECK(ParseDuration(PrintDuration(*duration)) == duration);
}

// The first line names a key or a pointer, the rest is its value or a body.
void CheckPair(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return;
  const std::string_view name = bytes.substr(0, end), value = bytes.substr(end + 1);
  if (name.empty() || name.front() == '/') {
    GS_CHECK(BodyKey(value, JsonPointer(name)).size() <= 64);
  } else if (const PolicyKey* const key = FindPolicyKey(name)) {
    Policy policy;
    if (!key->form.set(policy, value).ok()) return;
    Policy same;
    GS_CHECK(key->form.set(same, key->form.print(policy)).ok());
    GS_CHECK(key->form.print(same) == key->form.print(policy));
  }
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = gearstalk::AsBytes(data, size);
  gearstalk::CheckPlan(gearstalk::Cron::Parse(bytes));
  gearstalk::CheckDuration(bytes);
  gearstalk::CheckPair(bytes);
  return 0;
}
