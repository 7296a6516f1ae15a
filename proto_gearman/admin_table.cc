#include "proto_gearman/admin_table.h"

#include <utility>

#include "proto_gearman/numbers.h"
#include "proto_gearman/printed_name.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {

// Up to a slice of rows, or of what looking for them takes.
bool AdminTable::Advance(GearmanSession& session) {
  const std::uint64_t much = context_.engine.effort() + Session::kRoundEffort;
  bool whole = false;
  const auto goes_on = [&] {
    return !whole && text_.size() < kSliceBytes && context_.engine.effort() <= much;
  };
  for (int row = 0; row < kSlice && goes_on(); ++row) whole = !AddRow();
  if (whole) text_ += ".\n";
  rows_.Append(text_);
  text_.clear();
  if (whole) session.out().Append(std::move(rows_));
  return whole;
}

bool AdminTable::AddRow() {
  switch (kind_) {
    case Kind::kStatus:
    case Kind::kPriorityStatus:
      return AddNextTube();
    case Kind::kJobs:
    case Kind::kUniqueJobs:
      return AddNextJob();
    case Kind::kWorkers:
      return AddNextConnection();
  }
  return false;
}

bool AdminTable::AddNextTube() {
  const Tube* tube = context_.engine.NextTube(cursor_);
  if (tube == nullptr) return false;
  cursor_ = tube->id();
  if (context_.engine.Listed(*tube) && Shows(*tube)) AddTube(*tube);
  return true;
}

bool AdminTable::AddNextJob() {
  const Job* job = context_.engine.NextJob(cursor_);
  if (job == nullptr) return false;
  cursor_ = job->id();
  if (Shows(job->tube())) AddJob(*job);
  return true;
}

bool AdminTable::AddNextConnection() {
  const auto [peer, session] = context_.connections.Next(static_cast<int>(cursor_));
  if (peer == nullptr) return false;
  cursor_ = static_cast<std::uint64_t>(peer->fd) + 1;
  AddConnection(*peer, session);
  return true;
}

bool AdminTable::Shows(const Tube& tube) const {
  return peer_.access == nullptr ||
         peer_.access->Allows(right::kObserve | right::kAdmin, tube.name());
}

void AdminTable::AddTube(const Tube& tube) {
  AppendName(text_, tube.name());
  if (kind_ == Kind::kStatus) {
    AddNumber(tube.unfinished());
    AddNumber(tube.reserved());
  } else {
    for (Band band : {Band::kHigh, Band::kNormal, Band::kLow}) AddNumber(tube.queued(band));
  }
  AddNumber(tube.workers());
  text_ += '\n';
}

// Handle, lost tries, whether nobody waits for it any more, whether it is kept in the journal.
void AdminTable::AddJob(const Job& job) {
  if (kind_ == Kind::kUniqueJobs) {
    AppendName(text_, job.unique());
  } else {
    text_ += context_.handles.Write(job.id()).view();
    AddNumber(job.extra().lost_tries);
    AddNumber(!job.durable() && job.extra().waiters.empty() ? 1 : 0);
    AddNumber(job.durable() ? 1 : 0);
  }
  text_ += '\n';
}

void AdminTable::AddConnection(const Peer& peer, const Session* session) {
  text_ += std::to_string(peer.fd);
  text_ += ' ';
  text_ += peer.address;
  text_ += ' ';
  text_ += session == nullptr ? "-" : session->ClientId();
  text_ += " :";
  if (session != nullptr) session->AppendQueues(text_);
  text_ += '\n';
}

void AdminTable::AddNumber(std::uint64_t number) {
  text_ += '\t';
  text_ += std::string_view(Decimal(number));
}

}  // namespace gearstalk::gearman
