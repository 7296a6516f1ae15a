#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {

// An engine with entries of `tubes:`, and one that reads what it wrote.
class PolicyTest : public EngineTest {
 protected:
  using Entries = std::vector<PolicyEntry>;

  void SetPolicies(Entries entries) { engine.SetRules(Now(), PolicyRules(std::move(entries))); }
  void SetPolicy(PolicyValues values) {
    SetPolicies({{.match = "t", .values = std::move(values)}});
  }

  JobId PutAndTake(RecordingConsumer& consumer, const Spec& spec = {}) {
    const JobId id = PutInto("t", spec);
    EXPECT_EQ("reserved " + std::to_string(id), Reserve(consumer));
    return id;
  }
  const Job& JobOf(JobId id) const { return *engine.Find(id); }

  std::vector<std::string> Log() const {
    std::vector<std::string> kinds;
    for (const OwnedRecord& record : journal.records()) {
      kinds.push_back(std::to_string(static_cast<int>(record.View().kind)));
    }
    return kinds;
  }
};

// What a restart finds.
struct Restarted {
  explicit Restarted(const KeptJournal& before, const PolicyRules& rules, Time now)
      : journal(before.records()), engine({}, journal) {
    engine.SetRules(now, rules);
    Restart(journal, engine);
    while (engine.Tick(now) <= now) continue;
  }
  KeptJournal journal;
  Engine engine;
};

}  // namespace gearstalk
