#include "proto_gearman/admin_table.h"

#include <algorithm>
#include <coroutine>
#include <string>
#include <string_view>
#include <utility>

#include "broker/engine/group_list.h"
#include "proto_gearman/numbers.h"
#include "proto_gearman/session.h"
#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {
namespace {

// The rows so far.
class Table {
 public:
  explicit Table(Session& session) : session_(session) { BeginSlice(); }

  // `co_await table.Row()` follows each row, and each item that was looked at and makes no row. It
  // ends the slice when the slice is full.
  auto Row() {
    struct Awaiter {
      Table& table;
      bool ended = false;
      bool await_ready() { return !(ended = table.IsFull()); }
      void await_suspend(std::coroutine_handle<> /*work*/) { table.EndSlice(); }
      void await_resume() {
        if (ended) table.BeginSlice();
      }
    };
    return Awaiter{*this};
  }

  void Send() {
    text += ".\n";
    EndSlice();
    session_.out().Append(std::move(rows_));
  }

  bool Shows(std::string_view tube) const {
    const auto& access = session_.peer().access;
    return access == nullptr || access->Allows(right::kObserve | right::kAdmin, tube);
  }

  void AddNumber(std::uint64_t number) {
    text += '\t';
    text += std::string_view(Decimal(number));
  }

  std::string text;  // of this slice

 private:
  void BeginSlice() {
    left_ = kSliceItems;
    most_effort_ = session_.engine().effort() + TurnShare::kEffort;
  }
  bool IsFull() {
    return --left_ == 0 || text.size() >= kTableSliceBytes ||
           session_.engine().effort() > most_effort_;
  }
  void EndSlice() {
    rows_.Append(text);
    text.clear();
  }

  Session& session_;
  std::size_t left_ = 0;  // rows
  std::uint64_t most_effort_ = 0;
  Output rows_;  // of the slices before
};

// `columns` adds what is behind a tube's name; an idle function has `zeros` there.
template <typename Columns>
Slices ListTubes(Session& session, Columns columns, std::string_view zeros) {
  Table table(session);
  const Engine& engine = session.engine();
  std::uint64_t last = 0;
  while (const Tube* tube = engine.NextTube(last)) {
    last = tube->id();
    if (engine.Listed(*tube) && table.Shows(tube->name())) {
      AppendName(table.text, tube->name());
      columns(table, *tube);
      table.AddNumber(tube->workers);
      table.text += '\n';
    }
    co_await table.Row();
  }
  last = 0;
  while (const IdleFunctions::Entry* idle = engine.idle_functions().Next(last)) {
    if (table.Shows(idle->name)) {
      AppendName(table.text, idle->name);
      table.text += zeros;
    }
    co_await table.Row();
  }
  table.Send();
}

// `columns` adds those of a job.
template <typename Columns>
Slices ListEachJob(Session& session, Columns columns) {
  Table table(session);
  JobId last = 0;
  while (const Job* job = session.engine().NextJob(last)) {
    last = job->id();
    if (table.Shows(job->tube().name())) {
      columns(table, *job);
      table.text += '\n';
    }
    co_await table.Row();
  }
  table.Send();
}

// gearmand prints the descriptor. The connection's id is never reused, and the log has it, too.
void BeginConnection(const Peer& peer, std::string_view client_id, std::string& text) {
  text += std::to_string(peer.id);
  text += ' ';
  text += peer.address;
  text += ' ';
  AppendWord(text, client_id.empty() ? "-" : client_id);
  text += " :";
}

}  // namespace

Slices ListStatus(Session& session) {
  const auto columns = [](Table& table, const Tube& tube) {
    table.AddNumber(tube.unfinished());
    table.AddNumber(tube.reserved());
  };
  return ListTubes(session, columns, "\t0\t0\t0\n");
}

Slices ListPriorityStatus(Session& session) {
  const auto columns = [](Table& table, const Tube& tube) {
    for (Band band : {Band::kHigh, Band::kNormal, Band::kLow}) table.AddNumber(tube.queued(band));
  };
  return ListTubes(session, columns, "\t0\t0\t0\t0\n");
}

Slices ListJobs(Session& session) {
  const auto columns = [&session](Table& table, const Job& job) {
    table.text += session.HandleOf(job.id()).view();
    table.AddNumber(job.rest().lost_tries);
    table.AddNumber(!job.durable && job.rest().waiters.empty() ? 1 : 0);
    table.AddNumber(job.durable ? 1 : 0);
  };
  return ListEachJob(session, columns);
}

Slices ListUniqueKeys(Session& session) {
  return ListEachJob(session,
                     [](Table& table, const Job& job) { AppendName(table.text, job.unique()); });
}

Slices ListGroups(Session& session, std::uint64_t tube_id, std::size_t most) {
  GroupList list(GroupList::Sort::kReady, /*descending=*/true, most);
  for (;;) {
    const Tube* const tube = TubeOfId(session.engine(), tube_id);
    if (tube == nullptr || tube->groups() == nullptr || list.Look(*tube->groups())) break;
    co_await NextSlice();
  }
  Table table(session);
  const Time now = session.Now();
  for (const GroupRow& row : list.Take()) {
    AppendJsonText(table.text, row.name);
    const Time age = row.oldest == kNever ? 0 : std::max<Time>(now - row.oldest, 0);
    for (const std::uint64_t number : {row.ready, row.reserved, row.delayed, row.handed_out,
                                       static_cast<std::uint64_t>(age / kSecond)}) {
      table.AddNumber(number);
    }
    table.text.append("\t").append(NameOf(row.held)).append("\n");
    co_await table.Row();
  }
  table.Send();
}

// A connection may have so many queues that its line takes several slices. It may go meanwhile, and
// another one may have its descriptor.
Slices ListConnections(Session& session) {
  Table table(session);
  const ConnectionList& connections = session.context().connections;
  ConnectionList::Entry entry = connections.Next(0);
  while (entry.peer != nullptr) {
    const int fd = entry.peer->fd;
    const std::uint64_t id = entry.peer->id;
    const auto there = [&entry, id] { return entry.peer != nullptr && entry.peer->id == id; };
    BeginConnection(*entry.peer, entry.session == nullptr ? "" : entry.session->ClientId(),
                    table.text);
    for (std::size_t queues = 0; there() && entry.session != nullptr;) {
      const std::size_t added = entry.session->AppendQueues(table.text, queues, kSliceItems);
      queues += added;
      if (added < kSliceItems) break;
      co_await table.Row();
      entry = connections.Next(fd);
    }
    table.text += '\n';
    co_await table.Row();
    entry = connections.Next(fd);
    if (there()) entry = connections.Next(fd + 1);
  }
  table.Send();
}

}  // namespace gearstalk::gearman
