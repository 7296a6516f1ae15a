#include "admin/api/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "admin/api/audit.h"
#include "admin/api/guard.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/operations.h"
#include "admin/api/routes.h"
#include "admin/metrics/job_metrics.h"
#include "admin/metrics/tube_metrics.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kTooMuch = 256 * 1024;  // bytes unread, at which ticks are left out
constexpr int kPingEvery = 5;                 // ticks
constexpr std::size_t kLookedAt = 32;         // tubes in a slice
constexpr int kEventsTold = 2;                // in a slice

// A hash that changes when something happens to a tube, but not with time alone.
std::size_t FingerprintOf(const Engine& engine, const Tube& tube) {
  std::size_t print = tube.id();
  const auto add = [&print](std::uint64_t number) {
    print = print * 1099511628211U ^ std::hash<std::uint64_t>()(number);
  };
  for (const JobCounter& counter : JobCounters()) add(counter.Of(tube));
  for (const TubeGauge& gauge : TubeGauges()) {
    if (!gauge.member.empty()) add(NumberOf(gauge, tube));
  }
  for (const std::size_t jobs :
       {tube.ready(), tube.reserved(), tube.delayed(), tube.buried(), tube.urgent()}) {
    add(jobs);
  }
  add(tube.using_count);
  add(tube.watching);
  add(engine.Waiting(tube));
  add(tube.paused());
  add(tube.pauses);
  add(tube.settings.created_function);
  add(static_cast<std::uint64_t>(tube.held_back));
  for (const std::int64_t limit : tube.settings.max_queue) add(static_cast<std::uint64_t>(limit));
  return print;
}

constexpr std::size_t kMaxTubes = 100;

// The names behind the refs. Tubes that the caller may not see are left out, as tubes that do not
// exist are.
std::vector<std::string> TubesOf(Fields& fields, const Grant& grant) {
  std::vector<std::string> names;
  const std::string text = fields.Text("tubes").value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::optional<std::string> name = NameOfRef(text.substr(at, end - at));
    if (!name) fields.Fail("tubes", "expected refs of tubes");
    if (name && grant.Sees(*name)) names.push_back(*name);
    at = end + 1;
  }
  if (names.size() > kMaxTubes) fields.Fail("tubes", "at most 100");
  return names;
}

}  // namespace

// One event stream.
class Feed final : public HttpFeed {
 public:
  Feed(Events& events, Caller caller, Events::Topics topics)
      : events_(events), caller_(std::move(caller)), topics_(std::move(topics)) {
    ++events_.open_;
    ++events_.open_of_[caller_.key()];
    prints_.resize(topics_.tubes.size());
  }
  ~Feed() override { events_.End(*this); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void Begin(HttpSink& sink) override {
    sink_ = &sink;
    sink.Send("retry: 3000\n\n");
    events_.Begin(*this);
  }

  const Caller& caller() const { return caller_; }
  const Events::Topics& topics() const { return topics_; }

  void Send(std::string_view event, std::string_view data) {
    if (sink_->Waiting() > kTooMuch) return;
    sink_->Send(fmt::format("id: {}\nevent: {}\ndata: {}\n\n", events_.NextId(), event, data));
  }

  // Serves a part of this second's turn. True: there is more to serve.
  bool Serve(Time now, const std::string& server) {
    if (tube_ == 0 && !BeginTurn(now, server)) return false;
    const Engine& engine = events_.services_.engine;
    int told = 0;
    const std::size_t end = std::min(tube_ + kLookedAt, topics_.tubes.size());
    while (tube_ < end && told < kEventsTold) told += ServeTube(engine, tube_++, now) ? 1 : 0;
    if (tube_ < topics_.tubes.size()) return true;
    tube_ = 0;
    return false;
  }

 private:
  // Whether there are tubes to look at.
  bool BeginTurn(Time now, const std::string& server) {
    if (!events_.services_.guard.Lasts(caller_, now)) {
      sink_->End();
      return false;
    }
    if (++ticks_ % kPingEvery == 0 && sink_->Waiting() <= kTooMuch) sink_->Send(": ping\n\n");
    if (topics_.server) Send("server", server);
    return topics_.tube;
  }

  // Returns whether an event was written.
  bool ServeTube(const Engine& engine, std::size_t place, Time now) {
    const std::string& name = topics_.tubes[place];
    const Tube* const tube = engine.FindTube(name);
    const std::size_t print = tube == nullptr ? 0 : FingerprintOf(engine, *tube);
    if (std::exchange(prints_[place], print) == print) return false;
    const Json object = tube == nullptr ? Json{{"ref", RefOf(name)}, {"gone", true}}
                                        : TubeObject(engine, name, tube, now);
    Send("tube", Dump(object));
    return true;
  }

  Events& events_;
  const Caller caller_;
  const Events::Topics topics_;
  HttpSink* sink_ = nullptr;
  std::vector<std::optional<std::size_t>> prints_;  // of each tube when it was told
  std::size_t tube_ = 0;                            // that is looked at next
  int ticks_ = 0;
};

Events::~Events() { services_.slices.Remove(*this); }

std::unique_ptr<HttpFeed> Events::Open(const Caller& caller, Topics topics) {
  if (open_ >= kStreams || open_of_[caller.key()] >= kStreamsOfCaller) return nullptr;
  return std::make_unique<Feed>(*this, caller, std::move(topics));
}

void Events::End(Feed& feed) {
  std::erase(feeds_, &feed);
  std::erase(turn_, &feed);
  --open_;
  const std::string caller = feed.caller().key();
  if (--open_of_[caller] == 0) open_of_.erase(caller);
}

void Events::Notice(std::string_view level, std::string_view code, std::string_view text) {
  const std::string data = Dump({{"level", level}, {"code", code}, {"text", text}});
  for (Feed* const feed : feeds_) {
    if (feed->topics().notice) feed->Send("notice", data);
  }
}

void Events::OnAudit(const Json& entry) {
  const std::string data = Dump(entry);
  for (Feed* const feed : feeds_) {
    if (feed->topics().audit) feed->Send("audit", data);
  }
}

void Events::LookForNotices() {
  const JournalStats journal = services_.engine.journal().Stats();
  const DiskSpace disk = services_.engine.journal().Disk();
  const bool told = std::exchange(looked_, true);
  // Whether it turned, which is told with one of two texts.
  const auto look = [&](bool& before, bool now, std::string_view level, std::string_view code,
                        std::string_view begun, std::string_view ended) {
    const bool turned = std::exchange(before, now) != now;
    if (turned && told) Notice(now ? level : "info", code, now ? begun : ended);
    return turned;
  };
  const bool turned = look(low_, disk.low, "error", "disk-low",
                           "less of the disk is free than limits.free_disk: no new jobs are stored",
                           "enough of the disk is free: new jobs are stored again");
  const bool fills = disk.mark > std::exchange(disk_mark_, disk.mark);
  if (told && fills && !turned) {
    Notice("warning", "disk-fills",
           fmt::format("the disk of the journal is {} % full", disk.used_percent()));
  }
  if (std::exchange(failed_, journal.failed) != journal.failed && told) {
    Notice("error", "journal-failed", "the journal has failed: nothing more is durable");
  }
  look(full_, journal.full, "error", "journal-full", "the disk of the journal is full",
       "the journal is writable again");
  look(draining_, services_.engine.draining(), "warning", "draining", "no new jobs are taken",
       "new jobs are taken again");
}

void Events::SendOperations() {
  std::map<std::uint64_t, std::uint64_t> versions;
  for (const auto& operation : services_.operations.all()) {
    const std::uint64_t version = operation->version();
    versions[operation->id()] = version;
    const auto told = operations_.find(operation->id());
    if (told != operations_.end() && told->second == version) continue;
    std::string data;
    for (Feed* const feed : feeds_) {
      if (!feed->topics().operation || !operation->SeenBy(feed->caller())) continue;
      if (data.empty()) data = Dump(operation->Object());
      feed->Send("operation", data);
    }
  }
  operations_ = std::move(versions);
}

Time Events::Tick(Time now) {
  if (now < next_) return next_;
  next_ = (now / kSecond + 1) * kSecond;
  LookForNotices();
  if (feeds_.empty()) return next_;
  SendOperations();
  const bool server = std::any_of(feeds_.begin(), feeds_.end(),
                                  [](const Feed* feed) { return feed->topics().server; });
  if (server) server_ = Dump(ServerObject(services_, now));
  turn_ = feeds_;
  services_.slices.Add(*this);
  return next_;
}

bool Events::RunSlice(Time now) {
  if (turn_.empty()) return false;
  Feed* const feed = turn_.back();
  // Serving may end the feed.
  const bool more = feed->Serve(now, server_);
  if (!more) std::erase(turn_, feed);
  return !turn_.empty();
}

Reply GetEvents(Call& call) {
  std::vector<std::string> words =
      call.fields.Words("topics", {"server", "tube", "operation", "audit", "notice"});
  if (!call.fields.Has("topics")) words = {"server", "notice"};
  const auto wants = [&](std::string_view topic) {
    return std::find(words.begin(), words.end(), topic) != words.end();
  };
  Events::Topics topics{.server = wants("server"),
                        .tube = wants("tube"),
                        .operation = wants("operation"),
                        .audit = wants("audit"),
                        .notice = wants("notice"),
                        .tubes = TubesOf(call.fields, call.caller.grant)};
  if (!call.fields.Finish()) return call.fields.problem();
  const Grant& grant = call.caller.grant;
  if ((topics.operation || topics.audit) && grant.role < Role::kOperator) {
    return Problem{"forbidden", "audit and operation need the role operator", "topics"};
  }
  if (topics.audit && !grant.SeesAll()) {
    return Problem{"forbidden", "audit needs access to all tubes (*)", "topics"};
  }
  Reply reply;
  reply.type = "text/event-stream";
  reply.feed = call.services.events.Open(call.caller, std::move(topics));
  if (reply.feed == nullptr) return Problem{"busy", "there are as many event streams as allowed"};
  return reply;
}

}  // namespace gearstalk::api
