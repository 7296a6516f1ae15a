// The table of policy keys, and the text form of each kind of value.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "broker/base/split.h"
#include "broker/policy/duration.h"
#include "broker/policy/policy.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kAnySize = std::uint64_t{1} << 50;
constexpr std::size_t kMostWaits = 32;
constexpr std::size_t kMostCopies = 8;
constexpr std::size_t kLongestName = 200;

std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts = Split(text, ',');
  for (std::string_view& part : parts) part = Trimmed(part);
  return parts;
}

// The empty list.
bool IsNone(std::string_view text) { return text.empty() || text == "none"; }

template <auto Field, std::uint64_t Least, std::uint64_t Most>
Status SetNumber(Policy& policy, std::string_view text) {
  std::uint64_t number = 0;
  if (!ParseNumber(text, number) || number < Least || number > Most) {
    return Expected(fmt::format("a number from {} to {}", Least, Most));
  }
  auto& field = policy.*Field;
  field = static_cast<std::remove_reference_t<decltype(field)>>(number);
  return {};
}

template <auto Shown>
std::string PrintNumber(const Policy& policy) {
  return fmt::format("{}", std::invoke(Shown, policy));
}

template <auto Field, std::uint64_t Least, std::uint64_t Most, auto Shown = Field>
constexpr PolicyForm kNumber{SetNumber<Field, Least, Most>, PrintNumber<Shown>};

template <auto Field, Time Most>
Status SetDuration(Policy& policy, std::string_view text) {
  return ReadDuration(text, 0, Most, policy.*Field);
}

template <auto Field>
std::string PrintDurationOf(const Policy& policy) {
  return PrintDuration(policy.*Field);
}

template <auto Field, Time Most = kLongestDuration>
constexpr PolicyForm kDuration{SetDuration<Field, Most>, PrintDurationOf<Field>};

template <auto Field>
Status SetSeconds(Policy& policy, std::string_view text) {
  return ReadSeconds(text, policy.*Field);
}

template <auto Field>
constexpr PolicyForm kSeconds{SetSeconds<Field>, PrintNumber<Field>};

// --- One of some words

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};

template <typename Value, std::size_t N>
Status SetWord(const Word<Value> (&words)[N], Value& field, std::string_view text) {
  std::string names;
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i].text == text) {
      field = words[i].value;
      return {};
    }
    names += i == 0 ? "" : i + 1 == N ? " or " : ", ";
    names += words[i].text;
  }
  return Expected(names);
}

template <typename Value, std::size_t N>
std::string PrintWord(const Word<Value> (&words)[N], Value value) {
  for (const Word<Value>& word : words) {
    if (word.value == value) return std::string(word.text);
  }
  return {};
}

constexpr Word<Policy::OnFailure> kOnFailure[] = {{"auto", Policy::OnFailure::kAuto},
                                                  {"bury", Policy::OnFailure::kBury},
                                                  {"delete", Policy::OnFailure::kDelete},
                                                  {"move", Policy::OnFailure::kMove}};
constexpr Word<Policy::OnExpiry> kOnExpiry[] = {{"delete", Policy::OnExpiry::kDelete},
                                                {"bury", Policy::OnExpiry::kBury},
                                                {"move", Policy::OnExpiry::kMove}};
constexpr Word<bool> kDeadState[] = {{"buried", false}, {"ready", true}};
constexpr Word<Policy::GroupOrder> kGroupOrder[] = {{"age", Policy::GroupOrder::kAge},
                                                    {"fair", Policy::GroupOrder::kFair},
                                                    {"fifo", Policy::GroupOrder::kFifo}};
constexpr Word<bool> kGroupMissing[] = {{"allow", false}, {"refuse", true}};
constexpr Word<bool> kGroupOnFailure[] = {{"next", false}, {"hold", true}};
constexpr Word<bool> kUniqueUntil[] = {{"end", false}, {"start", true}};

template <const auto& Words, auto Field>
Status SetWordOf(Policy& policy, std::string_view text) {
  return SetWord(Words, policy.*Field, text);
}

template <const auto& Words, auto Field>
std::string PrintWordOf(const Policy& policy) {
  return PrintWord(Words, policy.*Field);
}

template <const auto& Words, auto Field>
constexpr PolicyForm kOneOf{SetWordOf<Words, Field>, PrintWordOf<Words, Field>};

// --- retry_on

constexpr Word<std::uint8_t> kBadEnds[] = {{"timeout", bad_end::kTimeout},
                                           {"lost", bad_end::kLost},
                                           {"fail", bad_end::kFail},
                                           {"release", bad_end::kRelease},
                                           {"bury", bad_end::kBury}};

Status SetRetryOn(Policy& policy, std::string_view text) {
  std::uint8_t ends = 0;
  if (!IsNone(text)) {
    for (const std::string_view part : PartsOf(text)) {
      std::uint8_t end = 0;
      if (!SetWord(kBadEnds, end, part).ok()) {
        return Expected("some of timeout,lost,fail,release,bury, or none");
      }
      ends |= end;
    }
  }
  policy.retry_on = ends;
  return {};
}

std::string PrintRetryOn(const Policy& policy) {
  std::vector<std::string_view> words;
  for (const auto& [text, end] : kBadEnds) {
    if ((policy.retry_on & end) != 0) words.push_back(text);
  }
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

// --- backoff

bool ParseRange(std::string_view text, Backoff& backoff) {
  const std::size_t dots = text.find("..");
  const std::optional<Time> first = ParseDuration(Trimmed(text.substr(0, dots)));
  const std::optional<Time> most = ParseDuration(Trimmed(text.substr(dots + 2)));
  if (!first.has_value() || !most.has_value() || *first == 0 || *most < *first) return false;
  backoff = {{*first}, *most};
  return true;
}

bool ParseWaits(std::string_view text, Backoff& backoff) {
  for (const std::string_view part : PartsOf(text)) {
    const std::optional<Time> wait = ParseDuration(part);
    if (!wait.has_value() || backoff.waits.size() == kMostWaits) return false;
    backoff.waits.push_back(*wait);
  }
  const bool none = std::ranges::all_of(backoff.waits, [](Time wait) { return wait == 0; });
  if (none) backoff.waits.clear();
  return true;
}

Status SetBackoff(Policy& policy, std::string_view text) {
  Backoff backoff;
  const bool range = text.find("..") != std::string_view::npos;
  if (!IsNone(text) && !(range ? ParseRange(text, backoff) : ParseWaits(text, backoff))) {
    return Expected("a duration such as 90m, up to 32 of them with commas, or FIRST..MAX");
  }
  policy.backoff = std::move(backoff);
  return {};
}

std::string PrintBackoff(const Policy& policy) {
  const Backoff& backoff = policy.backoff;
  if (backoff.waits.empty()) return "0";
  if (backoff.most > 0) {
    return PrintDuration(backoff.waits.front()) + ".." + PrintDuration(backoff.most);
  }
  std::vector<std::string> waits;
  for (const Time wait : backoff.waits) waits.push_back(PrintDuration(wait));
  return fmt::format("{}", fmt::join(waits, ","));
}

// --- Names of tubes

bool IsTubeName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_of(std::string_view(" \t\r\n,\0", 6)) == std::string_view::npos &&
         !name.starts_with("$reply/");
}

Status SetDeadTube(Policy& policy, std::string_view text) {
  if (!IsTubeName(text)) return Expected("a tube name of 1 to 200 bytes, where {tube} may stand");
  policy.dead_tube = text;
  return {};
}

std::string PrintDeadTube(const Policy& policy) { return policy.dead_tube; }

Status SetCopyTo(Policy& policy, std::string_view text) {
  std::vector<std::string> names;
  if (!IsNone(text)) {
    for (const std::string_view part : PartsOf(text)) {
      if (!IsTubeName(part) || names.size() == kMostCopies) {
        return Expected("up to 8 tube names with commas, or none");
      }
      if (std::find(names.begin(), names.end(), part) == names.end()) names.emplace_back(part);
    }
  }
  policy.copy_to = std::move(names);
  return {};
}

std::string PrintCopyTo(const Policy& policy) {
  return policy.copy_to.empty() ? "none" : fmt::format("{}", fmt::join(policy.copy_to, ","));
}

// --- unique

// RFC 6901: empty, or parts that begin with "/", where "~" stands before 0 or 1 only.
bool GoodPointer(std::string_view pointer) {
  if (!pointer.empty() && pointer.front() != '/') return false;
  for (std::size_t at = 0; (at = pointer.find('~', at)) != std::string_view::npos; ++at) {
    if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
      return false;
  }
  return pointer.find_first_of(std::string_view("\t\r\n\0", 4)) == std::string_view::npos;
}

constexpr std::string_view kJson = "json:";

bool IsGoodJson(std::string_view text) {
  return text.starts_with(kJson) && GoodPointer(text.substr(kJson.size()));
}

Status SetUnique(Policy& policy, std::string_view text) {
  const bool json = IsGoodJson(text);
  if (!json && text != "none" && text != "body") {
    return Expected("none, body or json:POINTER, such as json:/user/id");
  }
  policy.unique = json             ? Policy::Unique::kJson
                  : text == "body" ? Policy::Unique::kBody
                                   : Policy::Unique::kNone;
  policy.unique_pointer = json ? JsonPointer(text.substr(kJson.size())) : JsonPointer();
  return {};
}

std::string PrintUnique(const Policy& policy) {
  if (policy.unique == Policy::Unique::kJson) {
    return std::string(kJson) + policy.unique_pointer.text();
  }
  return policy.unique == Policy::Unique::kBody ? "body" : "none";
}

// --- group

Status SetGroup(Policy& policy, std::string_view text) {
  using Kind = GroupSource::Kind;
  constexpr Word<Kind> kWords[] = {
      {"none", Kind::kNone}, {"line", Kind::kLine}, {"unique", Kind::kUnique}};
  GroupSource source;
  if (IsGoodJson(text)) {
    source = {Kind::kJson, JsonPointer(text.substr(kJson.size()))};
  } else if (!SetWord(kWords, source.kind, text).ok()) {
    return Expected("none, line, unique or json:POINTER, such as json:/customer/id");
  }
  policy.group = std::move(source);
  return {};
}

std::string PrintGroup(const Policy& policy) { return policy.group.Text(); }

// --- rate

constexpr Word<Time> kPer[] = {
    {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3'600 * kSecond}, {"d", kDay}};

template <auto Field>
Status SetRate(Policy& policy, std::string_view text) {
  if (text == "0") {
    policy.*Field = {};
    return {};
  }
  const std::size_t slash = text.find('/');
  std::uint64_t jobs = 0;
  Time per = 0;
  if (slash == std::string_view::npos || !ParseNumber(text.substr(0, slash), jobs) || jobs < 1 ||
      jobs > 1'000'000 || !SetWord(kPer, per, text.substr(slash + 1)).ok()) {
    return Expected("N/s, N/m, N/h or N/d with N from 1 to 1000000, or 0");
  }
  policy.*Field = {static_cast<std::uint32_t>(jobs), per};
  return {};
}

template <auto Field>
std::string PrintRate(const Policy& policy) {
  const Rate& rate = policy.*Field;
  return rate.jobs == 0 ? "0" : fmt::format("{}/{}", rate.jobs, PrintWord(kPer, rate.per));
}

template <auto Field>
constexpr PolicyForm kRate{SetRate<Field>, PrintRate<Field>};

// --- max_jobs

Status SetMaxJobs(Policy& policy, std::string_view text) {
  const std::vector<std::string_view> parts = PartsOf(text);
  std::array<std::int64_t, 3> limits{};
  bool good = parts.size() == 1 || parts.size() == limits.size();
  for (std::size_t i = 0; good && i < limits.size(); ++i) {
    std::uint64_t number = 0;
    good = ParseNumber(parts[parts.size() == 1 ? 0 : i], number) && number <= UINT32_MAX;
    limits[i] = static_cast<std::int64_t>(number);
  }
  if (!good) return Expected("a number of jobs, or HIGH,NORMAL,LOW");
  policy.max_jobs = limits;
  return {};
}

std::string PrintMaxJobs(const Policy& policy) {
  const auto& [high, normal, low] = policy.max_jobs;
  return high == normal && normal == low ? fmt::format("{}", high)
                                         : fmt::format("{},{},{}", high, normal, low);
}

constexpr bool kList = true;

constexpr PolicyKey kKeys[] = {
    {"attempts", "0 to 1000000", "Bad ends after which a job fails; 0: no limit.",
     kNumber<&Policy::attempts, 0, 1'000'000>},
    {"retry_on", "of timeout,lost,fail,release,bury", "The bad ends that count as attempts.",
     PolicyForm{SetRetryOn, PrintRetryOn, kList}},
    {"backoff", "D, D,D,... or FIRST..MAX", "Wait after a bad end.",
     PolicyForm{SetBackoff, PrintBackoff, kList}},
    {"jitter", "0 to 100", "Percent by which a wait varies at random.",
     kNumber<&Policy::jitter, 0, 100>},
    {"on_failure", "auto|bury|delete|move", "What becomes of a job that fails.",
     kOneOf<kOnFailure, &Policy::on_failure>},
    {"dead_tube", "TUBE", "Where `move` takes a job; {tube} stands for the tube's name.",
     PolicyForm{SetDeadTube, PrintDeadTube}},
    {"dead_state", "buried|ready", "The state of a job in the dead tube.",
     kOneOf<kDeadState, &Policy::dead_ready>},
    {"expire_after", "D", "Time after which a waiting job expires.",
     kDuration<&Policy::expire_after>},
    {"on_expiry", "delete|bury|move", "What becomes of a job that expires.",
     kOneOf<kOnExpiry, &Policy::on_expiry>},
    {"keep_buried", "D", "Time after which buried jobs are removed.",
     kDuration<&Policy::keep_buried>},
    {"keep_buried_jobs", "0 to 4294967295", "Buried jobs that are kept; the oldest go first.",
     kNumber<&Policy::keep_buried_jobs, 0, UINT32_MAX>},
    {"unique", "none|body|json:POINTER", "Where a job's key is found; equal keys are one job.",
     PolicyForm{SetUnique, PrintUnique}},
    {"unique_until", "end|start", "Whether a job has its key until it ends, or until it runs.",
     kOneOf<kUniqueUntil, &Policy::unique_until_start>},
    {"unique_for", "D, 1d at most", "Time from the put for which a finished job keeps its key.",
     kDuration<&Policy::unique_for, kDay>},
    {"max_running", "0 to 4294967295", "Reserved jobs at a time.",
     kNumber<&Policy::max_running, 0, UINT32_MAX>},
    {"rate", "N/s|N/m|N/h|N/d", "Hand-outs a second, minute, hour or day.", kRate<&Policy::rate>},
    {"burst", "1 to 1000000", "Hand-outs that an idle tube saves up; with a rate of N/s: N.",
     kNumber<&Policy::burst, 1, 1'000'000, &Policy::Burst>},
    {"weight", "1 to 1000", "Share of the tube with `tube_order: fair`.",
     kNumber<&Policy::weight, 1, 1'000>},
    {"ttr", "seconds", "TTR of a job that comes without one.", kSeconds<&Policy::ttr>},
    {"ttr_min", "seconds", "A shorter TTR becomes this one.", kSeconds<&Policy::ttr_min>},
    {"ttr_max", "seconds", "A longer TTR becomes this one.", kSeconds<&Policy::ttr_max>},
    {"max_jobs", "N, or HIGH,NORMAL,LOW", "Unfinished jobs at which new ones are refused.",
     PolicyForm{SetMaxJobs, PrintMaxJobs, kList}},
    {"max_bytes", "bytes", "Memory of the tube's jobs at which new ones are refused.",
     kNumber<&Policy::max_bytes, 0, kAnySize>},
    {"max_job_size", "bytes", "Largest job body.", kNumber<&Policy::max_job_size, 0, (1U << 30)>},
    {"copy_to", "up to 8 tubes", "Tubes that get a copy of each new job.",
     PolicyForm{SetCopyTo, PrintCopyTo, kList}},
    {"group", "none|json:POINTER|line|unique", "Where a job's group is found.",
     PolicyForm{SetGroup, PrintGroup}},
    {"group_order", "age|fair|fifo",
     "Among jobs of one priority: by age; groups take turns; also one at a time in each.",
     kOneOf<kGroupOrder, &Policy::group_order>},
    {"group_running", "0 to 4294967295", "Reserved jobs of one group at a time.",
     kNumber<&Policy::group_running, 0, UINT32_MAX>},
    {"group_rate", "N/s|N/m|N/h|N/d", "Hand-outs of one group.", kRate<&Policy::group_rate>},
    {"group_burst", "1 to 1000000",
     "Hand-outs that an idle group saves up; with a group_rate of N/s: N.",
     kNumber<&Policy::group_burst, 1, 1'000'000, &Policy::GroupBurst>},
    {"group_max_jobs", "0 to 4294967295",
     "Unfinished jobs of one group at which new ones are refused.",
     kNumber<&Policy::group_max_jobs, 0, UINT32_MAX>},
    {"group_missing", "allow|refuse", "Whether jobs without a group are taken.",
     kOneOf<kGroupMissing, &Policy::group_refuses_missing>},
    {"group_on_failure", "next|hold",
     "Whether a group with a buried or dead job goes on, or waits until somebody acts on that.",
     kOneOf<kGroupOnFailure, &Policy::group_holds>},
};

}  // namespace

std::span<const PolicyKey> PolicyKeys() { return kKeys; }

const PolicyKey* FindPolicyKey(std::string_view name) {
  const auto found = std::ranges::find(kKeys, name, &PolicyKey::name);
  return found == std::end(kKeys) ? nullptr : found;
}

Status CheckPolicy(const Policy& policy) {
  if (policy.ttr_min > 0 && policy.ttr_max > 0 && policy.ttr_min > policy.ttr_max) {
    return {Code::kInvalid,
            fmt::format("ttr_min {} is above ttr_max {}", policy.ttr_min, policy.ttr_max)};
  }
  return {};
}

}  // namespace gearstalk
