#include <algorithm>
#include <optional>
#include <string>

#include "proto_beanstalk/handlers.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"
#include "proto_beanstalk/yaml.h"

namespace gearstalk::beanstalk {
namespace {

// The audit entry of an act on a job; `tube` must outlive it.
OperatorAct ActOnJob(Session& session, std::string_view action, JobId id, std::string& tube) {
  const Job* const job = session.engine().Find(id);
  if (job != nullptr) tube = job->tube().name();
  return {.action = action, .tube = tube, .job = id};
}

class KickAnswer final : public LongAnswer {
 public:
  // Kicks no more jobs than there are now: jobs that are buried again meanwhile wait for the next
  // kick.
  KickAnswer(const Tube& tube, std::uint64_t bound)
      : left_(std::min<std::uint64_t>(bound, tube.buried() > 0 ? tube.buried() : tube.delayed())) {}

  bool Advance(Session& session) override {
    const std::uint64_t slice = std::min<std::uint64_t>(left_, kSlice);
    const Kicked kicked = session.engine().Kick(session.now(), session, slice, from_delayed_);
    left_ -= kicked.count;
    count_ += kicked.count;
    lsn_ = std::max(lsn_, kicked.lsn);
    if (kicked.count == slice && left_ > 0) return false;
    Finish(session, kicked.code);
    return true;
  }

 private:
  void Finish(Session& session, Code code) const {
    session.out().HoldUntil(lsn_);
    const bool refused = code != Code::kOk && count_ == 0;
    session.NoteAct({.action = "tube.kick",
                     .tube = session.used()->name(),
                     .count = count_,
                     .result = ResultOf(refused ? code : Code::kOk)});
    if (refused) {
      session.Reply(ErrorReply(code));
    } else {
      WriteNumber(session.out(), "KICKED", count_);
    }
  }

  std::uint64_t left_;
  std::uint64_t count_ = 0;
  Lsn lsn_ = 0;
  std::optional<bool> from_delayed_;
};

class TubesAnswer final : public LongAnswer {
 public:
  bool Advance(Session& session) override {
    for (std::size_t n = 0; n < kSlice; ++n) {
      const Tube* const tube = session.engine().NextTube(last_);
      if (tube == nullptr) {
        rows_.Append(list_.Take());
        WriteYaml(session.out(), std::move(rows_));
        return true;
      }
      if (session.May(right::kAny, tube->name())) list_.Item(tube->name());
      last_ = tube->id();
    }
    rows_.Append(list_.Take());
    return false;
  }

 private:
  Yaml list_;  // of one slice
  Output rows_;
  std::uint64_t last_ = 0;
};

// The list cannot change meanwhile: only its own session's commands do that.
class WatchedAnswer final : public LongAnswer {
 public:
  bool Advance(Session& session) override {
    const auto& watched = session.watched();
    const std::size_t end = std::min(watched.size(), at_ + kSlice);
    for (; at_ < end; ++at_) {
      const auto& watch = *(watched.begin() + static_cast<std::ptrdiff_t>(at_));
      list_.Item(watch->tube.name());
    }
    rows_.Append(list_.Take());
    if (at_ < watched.size()) return false;
    WriteYaml(session.out(), std::move(rows_));
    return true;
  }

 private:
  Yaml list_;  // of one slice
  Output rows_;
  std::size_t at_ = 0;
};

}  // namespace

Next Kick(Session& session, const Arguments& arguments) {
  return session.Answer(KickAnswer(*session.used(), arguments.bound));
}

Next KickJob(Session& session, const Arguments& arguments) {
  std::string tube;
  OperatorAct act = ActOnJob(session, "job.kick", arguments.id, tube);
  const Outcome outcome = session.engine().KickJob(session.now(), arguments.id);
  act.result = ResultOf(outcome.code);
  session.NoteAct(act);
  WriteOutcome(session.out(), outcome, kKicked);
  return Next::kGoOn;
}

Next PauseTube(Session& session, const Arguments& arguments) {
  if (!IsTubeName(arguments.tube)) return session.Reply(kBadFormat);
  const Outcome outcome = session.engine().Pause(session.now(), arguments.tube, arguments.delay_s);
  session.NoteAct({.action = arguments.delay_s == 0 ? "tube.resume" : "tube.pause",
                   .tube = arguments.tube,
                   .result = ResultOf(outcome.code)});
  WriteOutcome(session.out(), outcome, kPaused);
  return Next::kGoOn;
}

Next ListTubes(Session& session, const Arguments& /*arguments*/) {
  return session.Answer(TubesAnswer());
}

Next ListTubeUsed(Session& session, const Arguments& /*arguments*/) {
  WriteName(session.out(), "USING", session.used()->name());
  return Next::kGoOn;
}

Next ListTubesWatched(Session& session, const Arguments& /*arguments*/) {
  return session.Answer(WatchedAnswer());
}

}  // namespace gearstalk::beanstalk
