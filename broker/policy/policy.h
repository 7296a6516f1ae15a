#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/policy/group_name.h"

namespace gearstalk {

// How a hand-out can end badly; `retry_on` is a set of them.
namespace bad_end {
inline constexpr std::uint8_t kTimeout = 1;  // the TTR or CAN_DO_TIMEOUT passed
inline constexpr std::uint8_t kLost = 2;     // the holder disconnected
inline constexpr std::uint8_t kFail = 4;     // WORK_FAIL, WORK_EXCEPTION
inline constexpr std::uint8_t kRelease = 8;
inline constexpr std::uint8_t kBury = 16;  // by the holder
}  // namespace bad_end

// The waits between attempts.
struct Backoff {
  std::vector<Time> waits = {};  // empty: none
  Time most = 0;                 // > 0: waits[0] is doubled for each further attempt, up to `most`

  // After bad end number `attempt`, counted from 1.
  Time After(std::uint32_t attempt) const;
  bool operator==(const Backoff&) const = default;
};

// Hand-outs: `jobs` in each `per`. 0 jobs: no limit.
struct Rate {
  std::uint32_t jobs = 0;
  Time per = kSecond;
  bool operator==(const Rate&) const = default;
};

// What a tube does with its jobs; docs/policies.md says it for users. The defaults are those of a
// tube without a policy. 0 switches a limit off.
struct Policy {
  enum class OnFailure : std::uint8_t { kAuto, kBury, kDelete, kMove };
  enum class OnExpiry : std::uint8_t { kDelete, kBury, kMove };
  enum class Unique : std::uint8_t { kNone, kBody, kJson };
  enum class GroupOrder : std::uint8_t { kAge, kFair, kFifo };

  std::uint32_t attempts = 0;
  std::uint8_t retry_on = bad_end::kTimeout | bad_end::kLost | bad_end::kFail | bad_end::kRelease;
  Backoff backoff = {};
  std::uint32_t jitter = 0;  // percent
  OnFailure on_failure = OnFailure::kAuto;
  std::string dead_tube = "{tube}.dead";
  bool dead_ready = false;
  Time expire_after = 0;
  OnExpiry on_expiry = OnExpiry::kDelete;
  Time keep_buried = 0;
  std::uint32_t keep_buried_jobs = 0;
  Unique unique = Unique::kNone;
  JsonPointer unique_pointer = {};  // kJson
  bool unique_until_start = false;
  Time unique_for = 0;
  std::uint32_t max_running = 0;
  Rate rate = {};
  std::uint32_t burst = 0;  // 0: what `rate` makes of it, see Burst
  std::uint32_t weight = 1;
  std::uint32_t ttr = 0, ttr_min = 0, ttr_max = 0;  // seconds
  std::array<std::int64_t, 3> max_jobs{};           // high, normal, low priority
  std::uint64_t max_bytes = 0;
  std::uint32_t max_job_size = 0;
  std::vector<std::string> copy_to = {};
  GroupSource group = {};
  GroupOrder group_order = GroupOrder::kFair;
  std::uint32_t group_running = 0;
  Rate group_rate = {};
  std::uint32_t group_burst = 0;  // as `burst`
  std::uint32_t group_max_jobs = 0;
  bool group_refuses_missing = false;
  bool group_holds = false;  // a group with a buried or dead job gives nothing

  bool Retries() const { return attempts > 0 || !backoff.waits.empty(); }
  // Hand-outs that an idle tube saves up, or an idle group; at least 1.
  std::uint32_t Burst() const;
  std::uint32_t GroupBurst() const;
  // The name of `tube`'s dead tube.
  std::string DeadTubeOf(std::string_view tube) const;
  // A TTR as it comes with a job, 0 if it comes with none, as the tube sets it. Seconds.
  std::uint32_t TtrOf(std::uint32_t asked) const;
  bool operator==(const Policy&) const = default;
};

// How a value of a policy is written.
struct PolicyForm {
  // Sets the field; a message says what a good value is.
  Status (*set)(Policy&, std::string_view text);
  // The shortest text that `set` takes for the value.
  std::string (*print)(const Policy&);
  bool list = false;  // the file may have it as a list of texts
};

// One key of a policy, as it stands in the file and in the administration's lines.
struct PolicyKey {
  std::string_view name;
  std::string_view shape;  // of a value, for help
  std::string_view help;
  PolicyForm form;
};

// In the order of the documentation.
std::span<const PolicyKey> PolicyKeys();
// nullptr: there is none.
const PolicyKey* FindPolicyKey(std::string_view name);

// What no single key can check: a message says which keys contradict each other.
Status CheckPolicy(const Policy& policy);

}  // namespace gearstalk
