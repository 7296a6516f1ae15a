#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/bodies.h"
#include "broker/engine/consumer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/store.h"

namespace gearstalk {

class BadEnds;
class Consuming;
class Dispatch;

// The engine for producers: new jobs, and the clients that wait for them.
class Producing {
 public:
  // They outlive its last use.
  Producing(JobStore& store, Dispatch& dispatch, BadEnds& bad_ends, Consuming& consuming)
      : store_(store), dispatch_(dispatch), bad_ends_(bad_ends), consuming_(consuming) {}

  // As in beanstalkd, a put whose body does not end in CRLF has used up an id.
  void SpoilPut() { store_.ids.UseUp(); }
  // There is no memory for a body that arrives: counts it, and returns the code for the client.
  Code RefuseBody() { return store_.CountRefused(Code::kOutOfMemory); }

  // Put, Submit and PutInto refuse a job with kDraining, kQueueFull, kGroupFull, kGroupMissing,
  // kOutOfMemory, kTooManyTubes, kJournal or kDiskLow: it is counted as refused and destroyed.

  // beanstalk's put into the used tube. `job` has priority, ttr_s, delay_s and its body set.
  // A tube "$reply/<id>" sends the body to the waiters of the job that the consumer holds instead;
  // kNotFound: it does not hold it.
  //
  // If `compared` is given and Waits says so afterwards, nothing has happened yet: the job is still
  // the caller's. Without it a job whose body is in the journal alone is equal if its hash is.
  Added Put(Time now, Consumer& producer, JobPtr&& job, ComparisonPtr* compared = nullptr);
  // Gearman's submit. A job with the same key in the tube that is not finished is joined instead.
  // kInvalid: the tube is one that takes answers.
  Added Submit(Time now, Consumer& producer, JobPtr&& job, const Submission& submission,
               ComparisonPtr* compared = nullptr);
  // As Put, without a producer. A job with the same unique key is joined, as by Submit. kInvalid:
  // the tube is one that takes answers. `made_by`: the schedule whose job it is.
  Added PutInto(Time now, std::string_view tube, JobPtr&& job, ComparisonPtr* compared = nullptr,
                const Record::Schedule* made_by = nullptr);
  // The observer's connection is gone: ends its waits. Foreground jobs that nobody waits for and
  // nobody runs disappear. A bounded number of steps a call; false: there is more, call again.
  bool Forget(JobObserver& observer);

 private:
  // How a new job comes.
  struct Arrival {
    Time due = 0;
    JobObserver* waiter = nullptr;
    const Record::Schedule* schedule = nullptr;  // that made it
    ComparisonPtr* compared = nullptr;
    Consumer* producer = nullptr;
  };
  struct Copy {
    Tube* to;
    JobPtr job;
  };

  Added Add(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  Added Admit(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  Code AdmitsJob(Tube& tube, const Job& job);
  static bool MakeKey(JobPtr& job, const Policy& policy);
  UniqueIndex::Match FindMatch(const Job& job, const Tube& tube, const Comparison* compared) const;
  bool HasToCompare(const Job& job, const Tube& tube, const Arrival& arrival);
  std::optional<Added> FindEqual(Time now, const Job& job, Tube& tube, const Arrival& arrival);
  Code MakeCopies(const Job& job, const Tube& tube, std::vector<Copy>& copies);
  Code AdmitCopies(Time now, std::vector<Copy>& copies, const Arrival& arrival);
  void DropCopies(std::vector<Copy>& copies);
  Added EnqueueAndCopy(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  Added Enqueue(Time now, JobPtr&& owned, Tube& tube, const Arrival& arrival);
  Added Reply(Time now, Consumer& producer, JobPtr job);
  Added JoinJob(Job& job, JobObserver* waiter);

  JobStore& store_;
  Dispatch& dispatch_;
  BadEnds& bad_ends_;
  Consuming& consuming_;
};

}  // namespace gearstalk
