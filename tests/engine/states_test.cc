// Every verb on a job in every state.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

struct Verb {
  std::string_view name;
  Code (*call)(Engine&, Time, Consumer&, JobId);
  // What becomes of the job, by the state it is in: ready, held by the caller, held by somebody
  // else, delayed, buried, gone. An empty word: kNotFound, and nothing changes.
  std::array<std::string_view, 6> after;
};

class StatesTest : public EngineTest {
 protected:
  // A job put by beanstalk in the state of this number.
  JobId Make(int state, RecordingConsumer& caller, RecordingConsumer& other) {
    const JobId id = Put(caller, {.delay_s = state == 3 ? 100U : 0U});
    if (state == 1) engine.ReserveJob(Now(), caller, id);
    if (state == 2 || state == 4) engine.ReserveJob(Now(), other, id);
    if (state == 4) engine.Bury(Now(), other, id, 1024);
    if (state == 5) engine.Delete(Now(), caller, id);
    return id;
  }
};

const std::vector<Verb>& Verbs() {
  static const auto* verbs = new std::vector<Verb>{
      {"delete",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.Delete(t, c, id).code; },
       {"gone", "gone", "", "gone", "gone", ""}},
      {"release",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.Release(t, c, id, 1, 0).code; },
       {"", "ready", "", "", "", ""}},
      {"release with delay",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.Release(t, c, id, 1, 1).code; },
       {"", "delayed", "", "", "", ""}},
      {"bury",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.Bury(t, c, id, 1).code; },
       {"", "buried", "", "", "", ""}},
      {"touch",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.Touch(t, c, id).code; },
       {"", "reserved", "", "", "", ""}},
      {"report",
       [](Engine& e, Time t, Consumer& c, JobId id) {
         return e.WorkProgress(t, c, id, {Progress::Kind::kData, "x"}).code;
       },
       {"", "reserved", "", "", "", ""}},
      {"complete",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.WorkComplete(t, c, id, "x").code; },
       {"", "gone", "", "", "", ""}},
      {"fail",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.WorkFail(t, c, id).code; },
       {"", "buried", "", "", "", ""}},
      {"exception",
       [](Engine& e, Time t, Consumer& c, JobId id) { return e.WorkException(t, c, id, "x").code; },
       {"", "buried", "", "", "", ""}},
      {"kick-job",
       [](Engine& e, Time t, Consumer&, JobId id) { return e.KickJob(t, id).code; },
       {"", "", "", "ready", "ready", ""}},
      {"cancel",
       [](Engine& e, Time t, Consumer&, JobId id) { return e.Cancel(t, id).code; },
       {"gone", "gone", "gone", "gone", "gone", ""}},
      {"reserve-job",
       [](Engine& e, Time t, Consumer& c, JobId id) {
         return e.ReserveJob(t, c, id).job == nullptr ? Code::kNotFound : Code::kOk;
       },
       {"reserved", "", "", "reserved", "reserved", ""}},
  };
  return *verbs;
}

TEST_F(StatesTest, EveryVerbInEveryState) {
  constexpr std::string_view kStates[] = {"ready",   "reserved", "reserved",
                                          "delayed", "buried",   "gone"};
  for (const Verb& verb : Verbs()) {
    for (int state = 0; state < 6; ++state) {
      SCOPED_TRACE(std::string(verb.name) + " in state " + std::to_string(state));
      RecordingConsumer &caller = Connect("t"), &other = Connect("t");
      const JobId id = Make(state, caller, other);
      const auto at = static_cast<std::size_t>(state);
      ASSERT_EQ(kStates[at], State(id));
      const Lsn before = journal.last();
      const bool known = !verb.after[at].empty();
      EXPECT_EQ(known ? Code::kOk : Code::kNotFound, verb.call(engine, Now(), caller, id));
      EXPECT_EQ(known ? verb.after[at] : kStates[at], State(id));
      if (!known) {
        EXPECT_EQ(before, journal.last());
      }
      ExpectSound();
      engine.Cancel(Now(), id);
      Leave(caller);
      Leave(other);
    }
  }
}

}  // namespace
}  // namespace gearstalk
