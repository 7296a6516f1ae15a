#include <algorithm>
#include <charconv>
#include <optional>

#include "tests/simulation/client.h"
#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

// What follows `word` and a space; nothing: the reply is another one.
std::optional<std::uint64_t> NumberAfter(std::string_view word, std::string_view reply) {
  if (!reply.starts_with(word) || reply.size() <= word.size() + 1) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = reply.data() + word.size() + 1;
  const auto [end, error] = std::from_chars(begin, reply.data() + reply.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

constexpr std::uint32_t kForEver = UINT32_MAX;

bool Refuses(std::string_view reply) { return reply == "OUT_OF_MEMORY" || reply == "DRAINING"; }

}  // namespace

std::string BeanstalkClient::Waits() const {
  if (asked_.empty()) return {};
  const Asked& first = asked_.front();
  if (first.verb == Verb::kReserve && world_.now() < After(first.at, first.seconds + 1ULL))
    return {};
  return "the answer to command " + std::to_string(static_cast<int>(asked_.front().verb)) +
         " of second " + std::to_string(asked_.front().at / kSecond);
}

bool BeanstalkClient::AwaitsDeletion(const KnownJob& job) const {
  if (stale() || asked_.empty()) return false;
  const Asked& first = asked_.front();
  return first.verb == Verb::kDelete && first.job == &job &&
         world_.ledger().SurelyHolds(job, this, world_.now());
}

void BeanstalkClient::OnConnected() {
  used_ = "default";
  watched_ = {"default"};
  if (!takes_all_) return Watch();
  for (const std::string& tube : world_.tubes()) {
    Ask({.verb = Verb::kWatch, .tube = tube}, "watch " + tube + "\r\n");
  }
}

void BeanstalkClient::TakeAll() {
  takes_all_ = true;
  Finish();
}

void BeanstalkClient::OnGone() { asked_.clear(); }

void BeanstalkClient::Ask(Asked asked, const std::string& line) {
  asked.at = world_.now();
  Say(line.substr(0, line.find('\r')));
  asked_.push_back(std::move(asked));
  Send(line);
}

void BeanstalkClient::Act() {
  if (!asked_.empty()) return;
  Random& random = world_.random();
  if (!held_.empty() && (finishing_ || random.Percent(70))) return ActOnHeld(*random.Of(held_));
  if (finishing_) return Reserve();
  ActFreely();
}

void BeanstalkClient::ActOnHeld(KnownJob& job) {
  Random& random = world_.random();
  const std::string id = std::to_string(job.id);
  const std::uint64_t what = finishing_ ? 0 : random.Below(100);
  if (what < 55) {
    world_.ledger().OnEndAsked(job);
    return Ask({.verb = Verb::kDelete, .job = &job}, "delete " + id + "\r\n");
  }
  if (what < 70) {
    const bool delayed = world_.plan().Has(Feature::kDelays) && random.OneIn(2);
    const auto delay = static_cast<std::uint32_t>(delayed ? 1 + random.Below(20) : 0);
    const auto priority = static_cast<std::uint32_t>(random.Below(4));
    world_.ledger().OnGivenUp(job);
    return Ask(
        {.verb = Verb::kRelease, .job = &job, .seconds = delay, .priority = priority},
        "release " + id + " " + std::to_string(priority) + " " + std::to_string(delay) + "\r\n");
  }
  if (what < 80 && world_.plan().Has(Feature::kBuries) && !World::Remembers(job.tube)) {
    world_.ledger().OnGivenUp(job);
    Ledger::OnSetAside(job);
    return Ask({.verb = Verb::kBury, .job = &job}, "bury " + id + " 7\r\n");
  }
  if (what < 90) return Ask({.verb = Verb::kTouch, .job = &job}, "touch " + id + "\r\n");
  ActIn(random.Between(kMillisecond, 10 * kSecond));  // it works
}

void BeanstalkClient::ActFreely() {
  Random& random = world_.random();
  const std::uint64_t what = random.Below(100);
  if (what < 40) {
    for (std::uint64_t puts = random.OneIn(5) ? 1 + random.Below(5) : 1; puts > 0; --puts) Put();
    return;
  }
  if (what < 80) return Reserve();
  if (what < 86) return Watch();
  if (what < 90) return AskForJob();
  Operate();
}

void BeanstalkClient::Put() {
  Random& random = world_.random();
  if (World::Remembers(used_) && random.OneIn(2) && PutAgain()) return;
  const bool delayed = world_.plan().Has(Feature::kDelays) && random.OneIn(4);
  const auto delay = static_cast<std::uint32_t>(delayed ? 1 + random.Below(30) : 0);
  KnownJob job{.tube = used_,
               .priority = static_cast<std::uint32_t>(random.OneIn(3) ? random.Below(200'000)
                                                                      : random.Below(3)),
               .ttr_s = static_cast<std::uint32_t>(1 + random.Below(30))};
  job.asked = world_.now();
  job.size = random.Below(200);
  if (world_.plan().Has(Feature::kLarge) && random.OneIn(10)) job.size = random.Below(60'000);
  if (delay > 0 && !world_.ledger().MayBeKicked(used_, job.asked))
    job.not_before = job.asked + Time{delay} * kSecond;
  job.touched = delay > 0 || World::HasPolicy(used_);
  if (World::Expires(used_)) job.vanishes = world_.now() + World::kExpiry;
  world_.ChooseGroup(job);
  KnownJob& known = world_.ledger().Ask(std::move(job));
  const std::string body = Ledger::BodyOf(known);
  Ask({.verb = Verb::kPut, .job = &known, .id = world_.ledger().highest_id()},
      "put " + std::to_string(known.priority) + " " + std::to_string(delay) + " " +
          std::to_string(known.ttr_s) + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
}

// A body that a job of the tube has, or had.
bool BeanstalkClient::PutAgain() {
  KnownJob* const job = world_.ledger().SomeRemembered(used_, world_.random().Below(UINT64_MAX));
  if (job == nullptr) return false;
  job->put_again = true;
  const std::string body = Ledger::BodyOf(*job);
  Ask({.verb = Verb::kPutAgain, .job = job},
      "put 5 0 60 " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
  return true;
}

void BeanstalkClient::Reserve() {
  Random& random = world_.random();
  const auto seconds = static_cast<std::uint32_t>(random.OneIn(3) ? 0 : random.Below(20));
  if (!finishing_ && random.OneIn(10))
    return Ask({.verb = Verb::kReserve, .seconds = kForEver}, "reserve\r\n");
  Ask({.verb = Verb::kReserve, .seconds = seconds},
      "reserve-with-timeout " + std::to_string(seconds) + "\r\n");
}

void BeanstalkClient::Watch() {
  Random& random = world_.random();
  const std::string& tube = random.Of(world_.tubes());
  if (watched_.size() > 1 && random.OneIn(4)) {
    const std::string old =
        *std::next(watched_.begin(), static_cast<std::ptrdiff_t>(random.Below(watched_.size())));
    return Ask({.verb = Verb::kIgnore, .tube = old}, "ignore " + old + "\r\n");
  }
  if (random.OneIn(2)) return Ask({.verb = Verb::kUse, .tube = tube}, "use " + tube + "\r\n");
  Ask({.verb = Verb::kWatch, .tube = tube}, "watch " + tube + "\r\n");
}

void BeanstalkClient::AskForJob() {
  Random& random = world_.random();
  const JobId highest = world_.ledger().highest_id();
  if (highest == 0) return Ask({.verb = Verb::kAsk}, "stats\r\n");
  const JobId id =
      highest > 40 && random.OneIn(2) ? highest - random.Below(40) : 1 + random.Below(highest);
  KnownJob* const job = world_.ledger().OfId(id);
  const std::string text = std::to_string(id) + "\r\n";
  if (world_.plan().Has(Feature::kReserveById) && random.OneIn(3)) {
    world_.ledger().OnNamed(id);
    return Ask({.verb = Verb::kReserveJob, .id = id}, "reserve-job " + text);
  }
  if (random.OneIn(3)) return Ask({.verb = Verb::kPeek, .id = id}, "peek " + text);
  if (random.OneIn(3)) return Ask({.verb = Verb::kAsk, .id = id}, "stats-job " + text);
  if (job == nullptr || World::Remembers(job->tube)) return Ask({.verb = Verb::kAsk}, "stats\r\n");
  world_.ledger().OnEndAsked(*job);
  Ask({.verb = Verb::kDelete, .job = job}, "delete " + std::to_string(id) + "\r\n");
}

void BeanstalkClient::Operate() {
  Random& random = world_.random();
  const std::string& tube = random.Of(world_.tubes());
  if (world_.plan().Has(Feature::kBuries) && random.OneIn(2)) {
    world_.ledger().OnKickAsked(used_);
    return Ask({.verb = Verb::kKick, .tube = used_},
               "kick " + std::to_string(1 + random.Below(10)) + "\r\n");
  }
  if (world_.plan().Has(Feature::kTubePauses) && random.OneIn(2)) {
    const auto seconds = static_cast<std::uint32_t>(random.Below(10));
    world_.ledger().OnPauseAsked(tube, world_.NumberOf(tube));
    return Ask({.verb = Verb::kPause, .tube = tube, .seconds = seconds},
               "pause-tube " + tube + " " + std::to_string(seconds) + "\r\n");
  }
  static const std::vector<std::string> kQuestions = {
      "stats", "list-tubes", "list-tubes-watched", "peek-ready", "peek-delayed", "peek-buried"};
  Ask({.verb = Verb::kAsk}, random.Of(kQuestions) + "\r\n");
}

void BeanstalkClient::OnInput(std::string& input) {
  for (;;) {
    const std::size_t end = input.find("\r\n");
    if (end == std::string::npos) return;
    const std::string reply = input.substr(0, end);
    std::size_t size = end + 2;
    std::string body;
    std::optional<std::uint64_t> length = NumberAfter("OK", reply);
    if (reply.starts_with("RESERVED ") || reply.starts_with("FOUND ")) {
      const std::size_t last = reply.rfind(' ');
      length = NumberAfter(reply.substr(0, last), reply);
    }
    if (length) {
      if (input.size() < size + *length + 2) return;
      body = input.substr(size, *length);
      size += *length + 2;
    }
    input.erase(0, size);
    Say("<- " + reply);
    if (asked_.empty()) return world_.ledger().Fail("an answer that nobody asked for: " + reply);
    const Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (!Answered(asked, reply, body)) {
      world_.ledger().Fail("client " + std::to_string(number()) + ": '" + reply +
                           "' is no answer to command " +
                           std::to_string(static_cast<int>(asked.verb)));
    }
    if (asked_.empty())
      ActIn(world_.random().Between(100 * kMicrosecond,
                                    world_.random().OneIn(10) ? 2 * kSecond : kSecond / 5));
  }
}

bool BeanstalkClient::Answered(const Asked& asked, std::string_view reply, std::string_view body) {
  const bool shows = asked.verb == Verb::kPeek || asked.verb == Verb::kAsk;
  if (reply == "INTERNAL_ERROR") return shows && world_.ReadsFail();
  switch (asked.verb) {
    case Verb::kPut:
    case Verb::kPutAgain:
      return OnPutReply(asked, reply);
    case Verb::kReserve:
    case Verb::kReserveJob:
    case Verb::kPeek:
      return OnJobReply(asked, reply, body);
    case Verb::kDelete:
    case Verb::kRelease:
    case Verb::kBury:
    case Verb::kTouch:
      return OnHolderReply(asked, reply);
    case Verb::kUse:
    case Verb::kWatch:
    case Verb::kIgnore:
    case Verb::kKick:
    case Verb::kKickJob:
    case Verb::kPause:
      return OnTubeReply(asked, reply);
    case Verb::kAsk:
      break;
  }
  return reply.starts_with("OK ") || reply.starts_with("FOUND ") || reply == "NOT_FOUND";
}

bool BeanstalkClient::OnPutReply(const Asked& asked, std::string_view reply) {
  const auto id = NumberAfter("INSERTED", reply);
  if (id) world_.CheckDurable(*id);
  if (asked.verb == Verb::kPutAgain) {
    if (id) world_.ledger().OnPutAgain(*asked.job, *id);
    return id || Refuses(reply);
  }
  if (id && asked.at > world_.draining_since())
    world_.ledger().Fail("job " + std::to_string(*id) + " was taken while the broker drains");
  if (id) {
    world_.ledger().OnPut(*asked.job, *id, asked.id, world_.now(), stale());
    // A kick lets it live longer.
    KnownJob& job = *asked.job;
    const Time delay = job.not_before == 0 ? 0 : job.not_before - job.asked;
    if (World::Expires(job.tube) && !world_.plan().Has(Feature::kBuries))
      job.expires = world_.now() + delay + World::kExpiry;
    return true;
  }
  if (Refuses(reply)) world_.ledger().OnRefused(*asked.job, world_.honest() && !stale());
  return Refuses(reply);
}

bool BeanstalkClient::OnJobReply(const Asked& asked, std::string_view reply,
                                 std::string_view body) {
  Ledger& ledger = world_.ledger();
  const Time waited = world_.now() - asked.at;
  if (asked.verb == Verb::kPeek) {
    if (reply == "NOT_FOUND") return true;
    return NumberAfter("FOUND", reply) == asked.id && ledger.OfBody(body) != nullptr;
  }
  if (const auto id = NumberAfter("RESERVED", reply)) {
    if (asked.verb == Verb::kReserveJob && *id != asked.id) return false;
    const bool by_id = asked.verb == Verb::kReserveJob;
    KnownJob* const job = Take(*id, body,
                               {.holder = this,
                                .watched = by_id ? nullptr : &watched_,
                                .asked = asked.at,
                                .default_ttr_s = World::kDefaultTtr,
                                .stale = stale()});
    if (job != nullptr && !by_id && !stale() && !watched_.contains(job->tube) &&
        !World::HasPolicy(job->tube)) {
      ledger.Fail("job " + std::to_string(*id) + " is of " + job->tube + ", which client " +
                  std::to_string(number()) + " does not watch");
    }
    return true;
  }
  if (asked.verb == Verb::kReserveJob) return reply == "NOT_FOUND";
  if (reply == "DEADLINE_SOON") return true;
  const bool early = waited < ledger.Least(Time{asked.seconds} * kSecond);
  const bool punctual =
      !world_.plan().Has(Feature::kPauses) && !world_.plan().Has(Feature::kLate) && !stale();
  if (punctual && waited > Time{asked.seconds} * kSecond + 2 * kSecond)
    ledger.Fail("a reserve timed out late");
  if (reply == "TIMED_OUT" && early && !stale()) ledger.Fail("a reserve timed out early");
  return reply == "TIMED_OUT";
}

void BeanstalkClient::Drop(KnownJob* job) { std::erase(held_, job); }

bool BeanstalkClient::OnHolderReply(const Asked& asked, std::string_view reply) {
  Ledger& ledger = world_.ledger();
  KnownJob& job = *asked.job;
  if (reply == "NOT_FOUND") {
    const bool held = asked.verb == Verb::kDelete || asked.verb == Verb::kTouch;
    if (held && !stale() && ledger.SurelyHolds(job, this, world_.now())) {
      ledger.Fail("job " + std::to_string(job.id) + " is not found, and its holder asks for it");
    }
    Drop(&job);
    if (job.holder == this) ledger.OnGivenUp(job);
    if (asked.verb == Verb::kDelete) ledger.OnEndRefused(job);
    return true;
  }
  if (Refuses(reply)) {
    if (asked.verb == Verb::kDelete) ledger.OnEndRefused(job);
    if (asked.verb == Verb::kTouch) return false;
    if (asked.verb != Verb::kDelete) Drop(&job);  // it is still held, until its TTR passes
    return true;
  }
  switch (asked.verb) {
    case Verb::kDelete:
      Drop(&job);
      job.remembered = !stale() && ledger.SurelyHolds(job, this, world_.now());
      ledger.OnEnded(job);
      return reply == "DELETED";
    case Verb::kRelease:
      Drop(&job);
      ledger.OnReleased(job, asked.priority,
                        asked.seconds == 0 ? 0 : asked.at + Time{asked.seconds} * kSecond,
                        asked.at);
      return reply == "RELEASED";
    case Verb::kBury:
      Drop(&job);
      if (!stale()) ledger.OnBuried(job, asked.at, world_.now());
      return reply == "BURIED";
    default:
      ledger.OnTouched(job, this, asked.at);
      return reply == "TOUCHED";
  }
}

bool BeanstalkClient::OnTubeReply(const Asked& asked, std::string_view reply) {
  switch (asked.verb) {
    case Verb::kUse:
      used_ = asked.tube;
      return reply == "USING " + asked.tube;
    case Verb::kWatch:
      watched_.insert(asked.tube);
      return reply == "WATCHING " + std::to_string(watched_.size());
    case Verb::kIgnore:
      if (watched_.size() == 1) return reply == "NOT_IGNORED";
      watched_.erase(asked.tube);
      return reply == "WATCHING " + std::to_string(watched_.size());
    case Verb::kPause:
      world_.ledger().OnPauseAnswered(
          asked.tube, world_.NumberOf(asked.tube), world_.now(),
          reply == "PAUSED" ? asked.at + Time{asked.seconds} * kSecond : 0);
      return reply == "PAUSED" || reply == "NOT_FOUND" || Refuses(reply);
    default:
      world_.ledger().OnKickAnswered(asked.tube);
      return reply.starts_with("KICKED") || reply == "NOT_FOUND" || Refuses(reply);
  }
}

}  // namespace gearstalk::simulation
