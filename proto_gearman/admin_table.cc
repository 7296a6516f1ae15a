#include "proto_gearman/admin_table.h"

#include <utility>

#include "proto_gearman/numbers.h"
#include "proto_gearman/printed_name.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {

// Adds up to a slice of rows, and looks at no more than a slice of candidates.
bool AdminTable::Advance(Session& session) {
  const std::uint64_t much = context_.engine.effort() + TurnShare::kEffort;
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
  if (tube == nullptr) return AddNextIdleFunction();
  cursor_ = tube->id();
  if (context_.engine.Listed(*tube) && Shows(tube->name())) AddTube(*tube);
  return true;
}

bool AdminTable::AddNextIdleFunction() {
  const IdleFunctions::Entry* const idle = context_.engine.idle_functions().Next(idle_cursor_);
  if (idle == nullptr) return false;
  if (!Shows(idle->name)) return true;
  AppendName(text_, idle->name);
  text_ += kind_ == Kind::kStatus ? "\t0\t0\t0\n" : "\t0\t0\t0\t0\n";
  return true;
}

bool AdminTable::AddNextJob() {
  const Job* job = context_.engine.NextJob(cursor_);
  if (job == nullptr) return false;
  cursor_ = job->id();
  if (Shows(job->tube().name())) AddJob(*job);
  return true;
}

// A connection may have so many queues that its line takes several slices.
bool AdminTable::AddNextConnection() {
  const ConnectionList::Entry next = context_.connections.Next(static_cast<int>(cursor_));
  const bool ended = listed_.has_value() && (next.peer == nullptr || next.peer->id != *listed_);
  if (ended) EndConnection();
  if (next.peer == nullptr) return false;
  cursor_ = static_cast<std::uint64_t>(next.peer->fd);
  if (!listed_.has_value()) BeginConnection(*next.peer, next.session);
  const std::size_t added =
      next.session == nullptr ? 0 : next.session->AppendQueues(text_, queues_, kSlice);
  queues_ += added;
  if (added == kSlice) return true;
  EndConnection();
  ++cursor_;
  return true;
}

bool AdminTable::Shows(std::string_view tube) const {
  return peer_.access == nullptr || peer_.access->Allows(right::kObserve | right::kAdmin, tube);
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

// Columns: handle, lost tries, whether it is a foreground job for which no client waits any more,
// whether it is a background job.
void AdminTable::AddJob(const Job& job) {
  if (kind_ == Kind::kUniqueJobs) {
    AppendName(text_, job.unique());
  } else {
    text_ += context_.handles.Write(job.id()).view();
    AddNumber(job.rest().lost_tries);
    AddNumber(!job.durable() && job.rest().waiters.empty() ? 1 : 0);
    AddNumber(job.durable() ? 1 : 0);
  }
  text_ += '\n';
}

void AdminTable::BeginConnection(const Peer& peer, const gearstalk::Session* session) {
  listed_ = peer.id;
  queues_ = 0;
  // gearmand prints the descriptor. The connection's id is never reused, and the log has it, too.
  text_ += std::to_string(peer.id);
  text_ += ' ';
  text_ += peer.address;
  text_ += ' ';
  const std::string_view id = session == nullptr ? "" : session->ClientId();
  AppendWord(text_, id.empty() ? "-" : id);
  text_ += " :";
}

void AdminTable::EndConnection() {
  listed_.reset();
  text_ += '\n';
}

void AdminTable::AddNumber(std::uint64_t number) {
  text_ += '\t';
  text_ += std::string_view(Decimal(number));
}

}  // namespace gearstalk::gearman
