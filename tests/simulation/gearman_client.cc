#include <algorithm>
#include <charconv>

#include "tests/simulation/client.h"
#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

enum Packet : std::uint32_t {
  kCanDo = 1,
  kCantDo = 2,
  kPreSleep = 4,
  kNoop = 6,
  kSubmit = 7,
  kCreated = 8,
  kGrab = 9,
  kNoJob = 10,
  kAssign = 11,
  kComplete = 13,
  kFail = 14,
  kEcho = 16,
  kEchoed = 17,
  kSubmitBg = 18,
  kError = 19,
  kData = 28,
};
constexpr std::size_t kHeader = 12;
constexpr std::size_t kLongestUnique = 64;

std::uint32_t NumberAt(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::string Header(std::uint32_t type, std::size_t size) {
  std::string header("\0REQ", 4);
  for (const std::uint32_t number : {type, static_cast<std::uint32_t>(size)}) {
    for (int shift = 24; shift >= 0; shift -= 8)
      header += static_cast<char>(number >> shift & 0xFFU);
  }
  return header;
}

JobId IdOfHandle(std::string_view handle) {
  JobId id = 0;
  const std::size_t colon = handle.rfind(':');
  std::from_chars(handle.data() + colon + 1, handle.data() + handle.size(), id);
  return id;
}

std::string ResultOf(const KnownJob& job) { return "done " + std::to_string(job.token); }

}  // namespace

GearmanClient::GearmanClient(World& world, int number, bool works)
    : Client(world, number), works_(works) {}

// A worker that sleeps waits for nothing; a client of a job waits for its end.
std::string GearmanClient::Waits() const {
  if (!submitted_.empty()) return "JOB_CREATED";
  if (!echoes_.empty()) return "ECHO_RES";
  if (grabs_) return "the answer to GRAB_JOB";
  if (!waits_for_.empty()) return "the end of " + waits_for_.begin()->first;
  return {};
}

void GearmanClient::OnConnected() {
  Random& random = world_.random();
  if (works_) {
    for (std::uint64_t n = 1 + random.Below(3); n > 0; --n) {
      const std::string& tube = random.Of(world_.tubes());
      functions_.insert(tube);
      SendPacket(kCanDo, tube);
    }
  }
  ActIn(random.Between(0, kSecond));
}

// Foreground jobs go with their clients.
void GearmanClient::OnGone() {
  for (KnownJob* job : submitted_) {
    if (!job->durable) job->vanishes = 0;
  }
  functions_.clear();
  submitted_.clear();
  floors_.clear();
  waits_for_.clear();
  handles_.clear();
  echoes_.clear();
  completed_.clear();
  sleeps_ = grabs_ = false;
}

void GearmanClient::SendPacket(std::uint32_t type, std::string_view payload) {
  Say("packet " + std::to_string(type) + " " + std::string(payload.substr(0, payload.find('\0'))));
  Send(Header(type, payload.size()) + std::string(payload));
}

void GearmanClient::Act() {
  Random& random = world_.random();
  if (!held_.empty()) return Work();
  if (works_) {
    if (sleeps_ || grabs_) return;
    grabs_ = true;
    asked_at_ = world_.now();
    return SendPacket(kGrab, "");
  }
  if (!finishing_ && (waits_for_.empty() || random.OneIn(3))) Submit();
  if (random.OneIn(10)) {
    echoes_.push_back(std::to_string(random.Below(1000)));
    SendPacket(kEcho, echoes_.back());
  }
  ActIn(random.Between(kMillisecond, 2 * kSecond));
}

void GearmanClient::Submit() {
  Random& random = world_.random();
  KnownJob job{.tube = random.Of(world_.tubes()), .priority = 65536, .ttr_s = 0};
  job.asked = world_.now();
  job.size = random.Below(200);
  job.durable = random.OneIn(2);
  if (World::Expires(job.tube)) job.vanishes = world_.now() + World::kExpiry;
  if (!job.durable) job.vanishes = 0;
  job.touched = World::HasPolicy(job.tube);
  world_.ChooseGroup(job);
  // One that waits behind a failure that nobody looks at would wait for ever.
  const GroupPlan* const groups = world_.GroupsOf(job.tube);
  if (groups != nullptr && groups->may_hold && !job.durable) {
    job.durable = true;
    job.vanishes = kNever;
  }
  KnownJob& known = world_.ledger().Ask(std::move(job));
  // Without a unique key, or with one of its own, so that no job joins another.
  std::string unique;
  if (known.grouped && known.group.size() < kLongestUnique / 2) {
    unique = known.group + ":" + std::to_string(known.token);
  }
  std::string payload = known.tube + '\0' + unique + '\0' + Ledger::BodyOf(known);
  submitted_.push_back(&known);
  floors_.push_back(world_.ledger().highest_id());
  SendPacket(known.durable ? kSubmitBg : kSubmit, payload);
}

void GearmanClient::Work() {
  Random& random = world_.random();
  KnownJob& job = *held_.back();
  const std::string handle = handles_[&job];
  if (!finishing_ && random.OneIn(10)) return ActIn(random.Between(kMillisecond, 5 * kSecond));
  if (!finishing_ && random.OneIn(5)) {
    SendPacket(kData, handle + '\0' + "part");
    return ActIn(random.Between(kMillisecond, kSecond));
  }
  held_.pop_back();
  handles_.erase(&job);
  const bool fails = random.OneIn(8) && !World::Remembers(job.tube);
  if (!fails && world_.ledger().SurelyHolds(job, this, world_.now()))
    completed_.emplace_back(&job, job.held_until);
  world_.ledger().OnGivenUp(job);
  const GroupPlan* const groups = world_.GroupsOf(job.tube);
  const bool keeps_place = fails && groups != nullptr && groups->retries;
  // What beanstalk has put is buried when it fails.
  if (fails && !keeps_place) Ledger::OnSetAside(job);
  if (!keeps_place) world_.ledger().OnEndAsked(job);
  fails ? SendPacket(kFail, handle) : SendPacket(kComplete, handle + '\0' + ResultOf(job));
  ActIn(random.Between(100 * kMicrosecond, kSecond / 5));
}

void GearmanClient::OnInput(std::string& input) {
  while (input.size() >= kHeader) {
    if (!input.starts_with(std::string_view("\0RES", 4))) {
      return world_.ledger().Fail("client " + std::to_string(number()) + " got no packet");
    }
    const std::uint32_t type = NumberAt(input, 4);
    const std::size_t size = kHeader + NumberAt(input, 8);
    if (input.size() < size) return;
    const std::string payload = input.substr(kHeader, size - kHeader);
    input.erase(0, size);
    Say("<- packet " + std::to_string(type) + " " + payload.substr(0, payload.find('\0')));
    OnPacket(type, payload);
  }
}

void GearmanClient::OnPacket(std::uint32_t type, std::string_view payload) {
  Ledger& ledger = world_.ledger();
  const std::string_view handle = payload.substr(0, payload.find('\0'));
  const std::string_view data = payload.substr(std::min(payload.size(), handle.size() + 1));
  switch (type) {
    case kCreated:
      return OnCreated(payload);
    case kNoop:
      if (!std::exchange(sleeps_, false) && !grabs_ && held_.empty()) return;
      // What it was woken for is somebody else's then.
      if (world_.plan().Has(Feature::kResets) && world_.random().OneIn(20))
        return ResetIn(world_.random().Between(0, 20 * kMillisecond));
      return ActIn(world_.random().Between(0, 20 * kMillisecond));
    case kNoJob:
      if (!std::exchange(grabs_, false)) return ledger.Fail("NO_JOB that nobody asked for");
      NoteCompleted();
      sleeps_ = true;
      return SendPacket(kPreSleep, "");
    case kAssign:
      return OnAssigned(payload);
    case kEchoed:
      if (echoes_.empty() || echoes_.front() != payload)
        return ledger.Fail("another echo than was sent");
      return echoes_.pop_front();
    case kError:
      completed_.clear();
      // Its report was refused: it still has the job, and gives it back.
      if (works_) return ResetIn(kSecond);
      if (submitted_.empty()) return;
      ledger.OnRefused(*submitted_.front(), world_.honest() && !stale());
      submitted_.pop_front();
      return floors_.pop_front();
    case kComplete:
    case kFail:
    case kData:
      return OnFinished(type, handle, data);
    default:
      return ledger.Fail("packet " + std::to_string(type) + " is not for a client");
  }
}

void GearmanClient::OnCreated(std::string_view handle) {
  if (submitted_.empty()) return world_.ledger().Fail("JOB_CREATED that nobody asked for");
  KnownJob& job = *submitted_.front();
  if (job.asked > world_.draining_since())
    world_.ledger().Fail(std::string(handle) + " was taken while the broker drains");
  world_.CheckDurable(IdOfHandle(handle));
  world_.ledger().OnPut(job, IdOfHandle(handle), floors_.front(), world_.now(), stale());
  submitted_.pop_front();
  floors_.pop_front();
  if (!job.durable) waits_for_[std::string(handle)] = &job;
}

void GearmanClient::OnFinished(std::uint32_t type, std::string_view handle, std::string_view data) {
  const auto found = waits_for_.find(std::string(handle));
  if (found == waits_for_.end()) {
    return world_.ledger().Fail("client " + std::to_string(number()) + " did not submit " +
                                std::string(handle));
  }
  if (type == kData) return;
  KnownJob& job = *found->second;
  const bool empty = data.empty();  // a beanstalk consumer has deleted it
  if (type == kComplete && !empty && data != ResultOf(job)) {
    world_.ledger().Fail("job " + std::to_string(job.id) +
                         " has another result: " + std::string(data));
  }
  // A failed one may be buried.
  if (type == kComplete) world_.ledger().OnFinished(job);
  waits_for_.erase(found);
}

// A reply to what was sent later: the jobs that it completed are gone.
void GearmanClient::NoteCompleted() {
  for (const auto& [job, until] : completed_) {
    if (stale() || world_.now() >= until || job->deleted) continue;
    world_.ledger().OnEnded(*job);
    job->remembered = true;
  }
  completed_.clear();
}

void GearmanClient::OnAssigned(std::string_view payload) {
  const std::size_t function = payload.find('\0') + 1;
  const std::size_t body = payload.find('\0', function) + 1;
  const std::string_view handle = payload.substr(0, function - 1);
  if (!std::exchange(grabs_, false))
    return world_.ledger().Fail("JOB_ASSIGN that nobody asked for");
  NoteCompleted();
  KnownJob* const job =
      Take(IdOfHandle(handle), payload.substr(body),
           {.holder = this, .watched = &functions_, .asked = asked_at_, .stale = stale()});
  if (job == nullptr) return;
  handles_[job] = handle;
  ActIn(world_.random().Between(100 * kMicrosecond, kSecond));
}

}  // namespace gearstalk::simulation
