#pragma once

#include <algorithm>

#include "broker/base/lsn.h"
#include "broker/engine/job.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// The ids of jobs: each is given out once, over restarts, too. Part of the store.
//
// A replay learns ids from the records of jobs. An id that no record will name (of a foreground
// job, or an answer) comes from a block that is recorded as taken as a whole.
class JobIds {
 public:
  explicit JobIds(Journal& journal) : journal_(journal), persistent_(journal.Persistent()) {}

  // `recorded`: a record that names it follows. A journal that takes no records any more gives
  // others from its spare ids.
  JobId Take(bool recorded) {
    const bool known = recorded || !persistent_ || next_ < recorded_;
    return known ? next_++ : TakeOfBlock();
  }
  // The next one is nobody's. The journal does not hear of it: after a restart it may be given out.
  void UseUp() { ++next_; }
  // Ids below it were given out.
  JobId next() const { return next_; }
  // `id` was given out: a record, or another broker, says so. A spare one says nothing of others.
  void NoteTaken(JobId id) {
    if (id < kFirstSpareId) next_ = std::max(next_, id + 1);
  }
  // Ids below `next` were given out, and the journal knows it.
  void TakeRecorded(JobId next);
  // The record that says it, for a new beginning of the log.
  Record Capture();
  // Who gets an id without a record of its own may hear of it when this is durable.
  Lsn lsn() const { return lsn_; }
  // The journal has failed; records behind `durable` are lost.
  void DropUndurable(Lsn durable);

 private:
  JobId TakeOfBlock();

  Journal& journal_;
  const bool persistent_;
  JobId next_ = 1;
  JobId spare_given_ = 0;  // of Journal::SpareIds
  JobId recorded_ = 1;     // the journal knows that ids below are taken
  Lsn lsn_ = 0;            // since when
};

}  // namespace gearstalk
