#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/postgres/connection.h"
#include "broker/replica/log_store.h"

namespace gearstalk::postgres {

// Makes the statements over the two tables of a shard, and reads their answers. Pure.
//
// An append writes no row of `shard`: `last` and `revision` are as of the last statement that did.
// The last part is the newest one that is there, and each part raises the revision by one, so the
// part n has the revision `revision - last + n`.

extern const StoreWords kPostgresWords;
// SQLSTATEs where the tables, or their schema, are not there.
inline constexpr char kNoTable[] = "42P01 3F000";

std::string Quoted(const std::string& name);   // as an identifier
std::string Literal(const std::string& text);  // of a text without backslashes
// What is notified when a shard has changed.
std::string ChannelOf(const std::string& schema);
// application_name of a broker that leads with this epoch; 0: it does not lead.
std::string SessionName(const std::string& schema, std::uint64_t epoch);

// A range of sequence numbers with a table of its own.
struct Partition {
  std::string name;
  std::uint64_t from = 0, to = 0;  // without `to`
  std::uint64_t bytes = 0;
};

// The row of `shard` as a look or a poll finds it.
struct ShardRow {
  LogView view;
  std::uint64_t epoch = 0;
};
// Columns of ShardRow come first in a row of an answer; others begin here.
inline constexpr int kShardColumns = 18;
ShardRow ReadShardRow(const Rows& rows);
std::vector<Partition> ReadPartitions(const Rows& rows);

class Statements {
 public:
  explicit Statements(const std::string& schema);

  // Whether the schema is there. Making it, if it is not, needs a right that the role may not have.
  Statement HasSchema() const;
  Statement MakeTables(bool with_schema) const;

  Statement Look() const;
  Statement Found(const ShardMeta& meta) const;
  Statement ReplaceMeta(Revision seen, const ShardMeta& meta) const;
  Statement Announce(const Reign& standby) const;
  // `part`: which this broker has read, and which must still be as it was, or 0.
  Statement Acquire(const LogView& seen, const Reign& reign, const LogPart& part) const;
  // Returns a row if the part was written. `oldest`: what that becomes, if it changes.
  Statement Append(std::uint64_t epoch, std::uint64_t seq, const std::string& bytes,
                   std::optional<std::uint64_t> oldest, bool notify) const;
  Statement Beat(std::uint64_t epoch) const;
  Statement Release(std::uint64_t epoch) const;
  // The row, and whether this part is there with these bytes, in a transaction whose commit proves
  // that all which it has seen is on the standbys, too.
  Statement Confirm(std::uint64_t seq, const std::string& bytes) const;
  // A commit that proves the same.
  Statement Message() const;
  Statement Read(std::uint64_t from, std::uint64_t count, Revision at) const;
  // The row and the parts from `next` on; 0: from the first one of this revision on.
  Statement Poll(std::uint64_t next, Revision from, std::uint64_t count) const;
  // The epoch, and a piece of a part, or null if there is no such part, in each row.
  Statement Fetch(const std::vector<PartPiece>& pieces) const;
  Statement Partitions() const;
  Statement MakePartition(std::uint64_t from, std::uint64_t to) const;
  Statement Drop(const std::string& partition) const;

  // Whether a process among them waits for a synchronous standby, and which ones, but for `own`,
  // hold locks that they wait for.
  static Statement WhatHolds(const std::vector<std::int64_t>& silent,
                             const std::vector<std::int64_t>& own);
  // Ends what holds the row of `shard` for sessions of these names, but for `own` processes.
  static Statement Terminate(std::int64_t blocked, const std::vector<std::int64_t>& own,
                             const std::vector<std::string>& names);

 private:
  std::string Notify() const;

  const std::string schema_;  // quoted, as are the tables
  const std::string shard_, part_;
  const std::string newest_;  // number of the newest part, or null
  const std::string tail_;    // joins a row `t` to a shard `s`: how far its parts go
  const std::string channel_, lock_;
};

}  // namespace gearstalk::postgres
