#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admin/metrics/metrics.h"
#include "broker/journal/memory_journal.h"

namespace gearstalk {

class NoConnections final : public ConnectionList {
 public:
  Entry Next(int /*fd*/) const override { return {}; }
  std::size_t Count() const override { return 3; }
  std::uint64_t Total() const override { return 9; }
};

class Producer final : public Consumer {};

// An engine and its metrics, with a producer that uses whatever it is told to.
class Reading {
 public:
  Reading() { engine.Join(producer); }
  ~Reading() { engine.Leave(now, producer); }

  JobId Put(std::string_view tube, std::uint32_t delay_s = 0, std::string_view body = "job") {
    engine.Use(producer, tube);
    JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
    std::copy(body.begin(), body.end(), job->space().begin());
    job->delay_s = delay_s;
    return engine.Put(now, producer, std::move(job)).id;
  }
  // Looks at everything, as each survey does.
  void Survey() {
    engine.Tick(now);
    attention.Begin(now);
    TubeSurvey survey(engine, 0, now, nullptr, [this](const Tube& tube) { attention.Look(tube); });
    while (survey.Advance()) continue;
    while (attention.LookAtSchedules()) continue;
  }
  // Appends the next slice; false: that was the last one.
  static bool Advance(HttpBody& body, std::string& text) {
    const bool more = body.Advance();
    text += std::exchange(body.made().piece, std::nullopt).value_or("");
    return more;
  }
  std::string Text(bool all_tubes = false) {
    HttpBody body = metrics.Read(all_tubes);
    std::string text;
    for (rounds = 1; Advance(body, text); ++rounds) continue;
    return text;
  }

  Time now = kSecond;
  int rounds = 0;  // of the last text
  MemoryJournal journal;
  Engine engine{{}, journal};
  Producer producer;
  NoConnections connections;
  LoopLag lag;
  std::uint64_t refused_tls = 0;
  std::optional<std::uint64_t> disk_left;
  Attention attention{{.engine = engine,
                       .facts = [this] { return Facts(); },
                       .disk_left = [this] { return disk_left; }}};
  Metrics metrics{{.engine = engine,
                   .connections = connections,
                   .lag = lag,
                   .attention = attention,
                   .protocols = {},
                   .server = [this] { return Facts(); },
                   .now = [this] { return now; }}};

 private:
  ServerFacts Facts() const {
    ServerFacts facts;
    facts.version = "1.2.3";
    facts.commit = "abcdef";
    facts.started = 5 * kSecond;
    facts.received_bytes = 7;
    facts.sent_bytes = 8;
    facts.refused = {{"rights", 4}, {"tls", refused_tls}};
    return facts;
  }
};

}  // namespace gearstalk
