// What every LogStore does, and what only the one in PostgreSQL does, on a real server.

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <memory>

#include "broker/postgres/postgres_store.h"
#include "tests/postgres/postgres_process.h"
#include "tests/replica/store_suite.h"

namespace gearstalk {
namespace {

// One server for all tests, each of which has a schema of its own.
PostgresProcess* Server() {
  static const std::unique_ptr<PostgresProcess> server = PostgresProcess::Start();
  return server.get();
}

class PostgresPlace final : public Place {
 public:
  PostgresPlace() {
    static int schemas = 0;
    options_.conninfo = Server()->conninfo();
    options_.schema = "sch\"ema " + std::to_string(++schemas);
    options_.allow_unsafe = true;  // fsync is off, which makes the tests faster
  }
  std::unique_ptr<LogStore> NewStore() override { return NewStore(options_); }
  std::unique_ptr<LogStore> NewStore(const postgres::PostgresOptions& options) {
    Result<std::vector<postgres::Host>> hosts = postgres::HostsOf(options);
    EXPECT_TRUE(hosts.ok()) << hosts.status().message();
    return std::make_unique<postgres::PostgresStore>(options, std::move(hosts.value()), 1 << 20,
                                                     BootTime);
  }
  void Turn(const std::vector<LogStore*>& stores, const std::function<bool()>& over) override {
    const Time limit = BootTime() + 60 * kSecond;
    while (!over() && BootTime() < limit) {
      std::vector<pollfd> ready;
      for (LogStore* store : stores) ready.push_back({store->NotifyFd(), POLLIN, 0});
      poll(ready.data(), ready.size(), 10);
      for (LogStore* store : stores) {
        store->OnNotify();
        store->Tick(BootTime());
      }
    }
    EXPECT_TRUE(over()) << stores.front()->Stats().trouble;
  }

  postgres::PostgresOptions options() const { return options_; }
  // The name of a table, for SQL.
  std::string Table(const std::string& table) const {
    return postgres::Quoted(options_.schema) + "." + table;
  }
  // Changes a setting of the server, or sets it back; returns when sessions see it.
  static void Alter(const std::string& setting, const std::string& value) {
    Server()->Run(value.empty() ? "alter system reset " + setting
                                : "alter system set " + setting + " = '" + value + "'");
    const std::string loaded = "select pg_conf_load_time()::text";
    const std::string before = Server()->Run(loaded);
    Server()->Run("select pg_reload_conf()");
    const Time limit = BootTime() + 60 * kSecond;
    while (Server()->Run(loaded) == before && BootTime() < limit) continue;
  }
  // Ends the sessions of all stores.
  static void EndSessions() {
    Server()->Run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name "
        "like 'gearstalkd/%'");
  }

 private:
  postgres::PostgresOptions options_;
};

}  // namespace

std::unique_ptr<Place> NewPlace(const std::string& /*kind*/) {
  return Server() == nullptr ? nullptr : std::make_unique<PostgresPlace>();
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreSuite, testing::Values("postgres"));

namespace {

class PostgresOnly : public StoreSuite {
 protected:
  PostgresPlace& place() { return static_cast<PostgresPlace&>(*place_); }
  StoreResult Opened(const postgres::PostgresOptions& options) {
    auto store = place().NewStore(options);
    return Wait(*store, [&](LogStore::Done done) { store->Open(std::move(done)); });
  }
  // A server that is slow to answer is tried on, which is no refusal.
  StoreResult Refused(const postgres::PostgresOptions& options) {
    StoreResult result = Opened(options);
    for (int i = 0; i < 50 && result.done(); ++i) result = Opened(options);
    return result;
  }
};

TEST_P(PostgresOnly, ALostSessionIsNoLostAppend) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  PostgresPlace::EndSessions();
  EXPECT_EQ(Append(*a, fence, 2, "two"), StoreAnswer::kDone);
  Server()->Crash();
  EXPECT_EQ(Append(*a, fence, 3, "three"), StoreAnswer::kDone);
  EXPECT_EQ(Beat(*a, fence), StoreAnswer::kDone);
  EXPECT_EQ(Read(*a, 1, 16).size(), 3U);
}

// The row of the shard is held, so the append waits when its session is ended.
TEST_P(PostgresOnly, AnAppendIsDoneOnceHoweverOftenItsSessionEnds) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  bool over = false;
  StoreResult result;
  const std::string bytes = "two";
  const std::string hold = "begin; select from " + place().Table("shard") +
                           " for update; select pg_terminate_backend(pid) from pg_locks where not "
                           "granted; commit";
  a->Append(fence, 2, bytes, 1, [&](const StoreResult& answer) {
    over = true;
    result = answer;
  });
  for (int i = 0; i < 3; ++i) Server()->Run(hold);
  place_->Turn({a.get()}, [&] { return over; });
  EXPECT_TRUE(result.done());
  EXPECT_EQ(Server()->Run("select count(*) from " + place().Table("part")), "2");
}

TEST_P(PostgresOnly, TheSettingsOfTheRoleChangeNothing) {
  Server()->Run(
      "create role odd superuser login; alter role odd set search_path = nowhere; "
      "alter role odd set statement_timeout = 1; alter role odd set "
      "default_transaction_read_only = on; alter role odd set default_transaction_isolation"
      " = serializable; alter role odd set client_min_messages = error");
  postgres::PostgresOptions options = place().options();
  options.conninfo += " user=odd";
  auto odd = place().NewStore(options);
  EXPECT_TRUE(Wait(*odd, [&](LogStore::Done done) { odd->Open(std::move(done)); }).done());
  const Revision fence = Lead(*odd, "a");
  EXPECT_EQ(Append(*odd, fence, 1, "one"), StoreAnswer::kDone);
  EXPECT_EQ(Look(*a).last, 1U);
}

TEST_P(PostgresOnly, ARoleThatMayNotIsRefusedAtTheStartAndAwaitedLater) {
  Server()->Run("create role weak login");
  postgres::PostgresOptions options = place().options();
  options.conninfo += " user=weak";
  auto weak = place().NewStore(options);
  EXPECT_TRUE(Wait(*weak, [&](LogStore::Done done) { weak->Open(std::move(done)); }).done());
  const StoreResult refused = Wait(*weak, [&](LogStore::Done done) {
    weak->Found({1, 0, "name", "now"}, std::move(done));
  });
  EXPECT_EQ(refused.answer, StoreAnswer::kFailed);
  EXPECT_EQ(refused.why.code(), Code::kInvalid);
  const Revision fence = Lead(*a, "a");
  Wait(*a, [&](LogStore::Done done) { a->ReplaceMeta(0, {1, 0, "name", "now"}, std::move(done)); });
  Look(*a);  // from now on it waits for the operator
  Server()->Run("alter table " + place().Table("shard") + " rename to away");
  bool over = false;
  a->Beat(fence, 1, [&](const StoreResult& result, Time) {
    EXPECT_TRUE(result.done());
    over = true;
  });
  place_->Turn({a.get()}, [&] { return !a->Stats().trouble.empty(); });
  Server()->Run("alter table " + place().Table("away") + " rename to shard");
  place_->Turn({a.get()}, [&] { return over; });
}

// Beats are answered meanwhile.
TEST_P(PostgresOnly, AnAppendThatIsRefusedOrWaitsForALockGoesOnSayingSo) {
  Server()->Run("create role writer login; grant create on database postgres to writer");
  postgres::PostgresOptions options = place().options();
  options.conninfo += " user=writer";
  auto writer = place().NewStore(options);
  const Revision fence = Lead(*writer, "a");
  const std::string part = place().Table("part");
  const std::string bytes = "part";
  std::uint64_t answered = 0;
  const auto append = [&](std::uint64_t seq) {
    writer->Append(fence, seq, bytes, 1, [&, seq](const StoreResult& result) {
      EXPECT_TRUE(result.done());
      answered = seq;
    });
  };
  const auto says = [&](const std::string& what) {
    return writer->Stats().trouble.find(what) != std::string::npos;
  };
  EXPECT_EQ(Look(*writer).meta_at, 0);
  ASSERT_TRUE(Wait(*writer, [&](LogStore::Done done) {
                writer->ReplaceMeta(0, {1, 0, "name", "now"}, std::move(done));
              }).done());
  EXPECT_NE(Look(*writer).meta_at, 0) << "from now on it waits for the operator";

  Server()->Run("revoke insert on " + part + " from writer");
  append(1);
  place_->Turn({writer.get()}, [&] { return says("permission denied"); });
  EXPECT_EQ(Beat(*writer, fence), StoreAnswer::kDone);
  EXPECT_TRUE(says("permission denied for table part")) << writer->Stats().trouble;
  Server()->Run("grant insert on " + part + " to writer");
  place_->Turn({writer.get()}, [&] { return answered == 1; });
  EXPECT_EQ(writer->Stats().trouble, "");

  PGconn* const holder = PQconnectdb(Server()->conninfo().c_str());
  PQclear(PQexec(holder, "begin"));
  PQclear(PQexec(holder, ("lock table " + part + " in share mode").c_str()));
  append(2);
  const std::string why =
      "waits for a lock, which the server's process " + std::to_string(PQbackendPID(holder));
  place_->Turn({writer.get()}, [&] { return says(why); });
  EXPECT_EQ(Beat(*writer, fence), StoreAnswer::kDone);
  EXPECT_TRUE(says(why)) << writer->Stats().trouble;
  PQclear(PQexec(holder, "commit"));
  PQfinish(holder);
  place_->Turn({writer.get()}, [&] { return answered == 2; });
  EXPECT_EQ(writer->Stats().trouble, "");
}

// It may write, and make no partition.
TEST_P(PostgresOnly, AnAppendForWhichNoPartitionCanBeMadeSaysWhy) {
  Lead(*a, "a");
  Wait(*a, [&](LogStore::Done done) { a->ReplaceMeta(0, {1, 0, "name", "now"}, std::move(done)); });
  const std::string schema = postgres::Quoted(place().options().schema);
  Server()->Run("create role guest login; grant usage on schema " + schema +
                " to guest; grant select, insert, update on all tables in schema " + schema +
                " to guest; drop table if exists " + place().Table("part_1_65"));
  postgres::PostgresOptions options = place().options();
  options.conninfo += " user=guest";
  auto guest = place().NewStore(options);
  LogStore::Acquired acquired;
  ASSERT_EQ(Acquire(*guest, Look(*guest), ReignOf("b", 2), acquired), StoreAnswer::kDone);
  const std::string bytes = "one";
  guest->Append(acquired.fence, 1, bytes, 1, [](const StoreResult&) { ADD_FAILURE(); });
  const auto says = [&] {
    return guest->Stats().trouble.find("must be owner of table part") != std::string::npos ||
           guest->Stats().trouble.find("permission denied for schema") != std::string::npos;
  };
  place_->Turn({guest.get()}, says);
  EXPECT_EQ(Beat(*guest, acquired.fence), StoreAnswer::kDone);
  EXPECT_NE(Look(*guest).leader_at, 0);
  EXPECT_TRUE(says()) << guest->Stats().trouble;
}

TEST_P(PostgresOnly, UnsafeSettingsAreRefused) {
  postgres::PostgresOptions options = place().options();
  options.allow_unsafe = false;
  const StoreResult fsync = Refused(options);
  EXPECT_NE(fsync.why.message().find("fsync is off"), std::string::npos) << fsync.why.message();
  Server()->Run("create role hasty superuser login; alter role hasty set synchronous_commit = off");
  options.conninfo += " user=hasty";
  const StoreResult hasty = Refused(options);
  EXPECT_EQ(hasty.why.code(), Code::kInvalid);
  EXPECT_NE(hasty.why.message().find("alter role current_user set synchronous_commit = on"),
            std::string::npos);
}

TEST_P(PostgresOnly, NobodyAndNothingAreRefused) {
  postgres::PostgresOptions options = place().options();
  options.conninfo += " user=nobody_there";
  EXPECT_EQ(Refused(options).why.code(), Code::kInvalid);
  options.conninfo = place().options().conninfo + " dbname=nothing";
  EXPECT_EQ(Refused(options).why.code(), Code::kInvalid);
  options.conninfo = "host=/nowhere dbname=postgres";
  auto away = place().NewStore(options);
  EXPECT_TRUE(Wait(*away, [&](LogStore::Done done) { away->Open(std::move(done)); }).done())
      << "what cannot be reached is tried on";
  EXPECT_EQ(away->Stats().trouble.find_first_of("\t\n"), std::string::npos)
      << away->Stats().trouble;
  EXPECT_NE(away->Stats().trouble, "");
}

// What a client that stopped between Execute and Sync leaves in the server.
TEST_P(PostgresOnly, AnAcquireEndsTheSessionThatHoldsTheRowForTheLastReign) {
  Lead(*a, "a");
  auto b = NewStore();
  const LogView seen = Look(*b);
  PGconn* stopped =
      PQconnectdb((Server()->conninfo() + " application_name='" +
                   postgres::SessionName(place().options().schema, seen.leader.epoch) + "'")
                      .c_str());
  PQclear(PQexec(stopped, "begin"));
  PQclear(PQexec(stopped, ("select from " + place().Table("shard") + " for update").c_str()));
  LogStore::Acquired acquired;
  EXPECT_EQ(Acquire(*b, seen, ReignOf("b", 2), acquired), StoreAnswer::kDone);
  PQfinish(stopped);
}

// A dump keeps all versions of a row, and each statement would go through them.
TEST_P(PostgresOnly, AnAppendLeavesNoVersionOfTheRow) {
  const Revision fence = Lead(*a, "a");
  const std::string version = "select ctid from " + place().Table("shard");
  const std::string before = Server()->Run(version);
  for (std::uint64_t seq = 1; seq <= 5; ++seq) {
    ASSERT_EQ(Append(*a, fence, seq, "part"), StoreAnswer::kDone);
  }
  EXPECT_EQ(Server()->Run(version), before);
  EXPECT_EQ(Append(*a, fence, 6, "part", 3), StoreAnswer::kDone);
  EXPECT_EQ(Look(*a).oldest, 3U);
  EXPECT_EQ(Look(*a).last, 6U);
}

// What the acquire had seen of the parts is older than the append for which it waited.
TEST_P(PostgresOnly, AnAcquireKnowsOfAnAppendForWhichItWaited) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  auto b = NewStore();
  const LogView seen = Look(*b);
  PGconn* late = PQconnectdb(Server()->conninfo().c_str());
  PQclear(PQexec(late, "begin"));
  PQclear(PQexec(late, ("select from " + place().Table("shard") + " for share").c_str()));
  PQclear(PQexec(late, ("insert into " + place().Table("part") +
                        " select 2, revision - last + 2, "
                        "'late' from " +
                        place().Table("shard"))
                           .c_str()));
  bool over = false;
  LogStore::Acquired acquired;
  b->Acquire(seen, ReignOf("b", 2), [&](const StoreResult& result, const LogStore::Acquired& got) {
    over = result.done();
    acquired = got;
  });
  place_->Turn({b.get()}, [] {
    return Server()->Run("select count(*) > 0 from pg_locks where not granted") == "t";
  });
  PQclear(PQexec(late, "commit"));
  PQfinish(late);
  place_->Turn({b.get()}, [&] { return over; });
  EXPECT_EQ(acquired.last, 2U);
  EXPECT_GT(acquired.fence, Revision{0});
  EXPECT_EQ(Read(*b, 1, 16).size(), 2U);
  EXPECT_EQ(Append(*a, fence, 3, "of the last reign"), StoreAnswer::kFenced);
}

TEST_P(PostgresOnly, AnOlderStateIsNeverServed) {
  const Revision fence = Lead(*a, "a");
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    ASSERT_EQ(Append(*a, fence, seq, "part"), StoreAnswer::kDone);
  }
  Server()->Run("delete from " + place().Table("part") + " where seq > 1");
  const StoreResult result = Wait(*a, [&](const LogStore::Done& done) {
    a->Beat(fence, 1, [done](const StoreResult& answer, Time) { done(answer); });
  });
  EXPECT_EQ(result.why.code(), Code::kCorrupt);
  EXPECT_NE(result.why.message().find("j/0000000000000002 to j/0000000000000003"),
            std::string::npos)
      << result.why.message();
}

// Whoever has read what was lost must not lead with it.
TEST_P(PostgresOnly, WhoReadAnotherPartDoesNotLead) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  auto b = NewStore();
  ASSERT_EQ(Read(*b, 1, 16).size(), 1U);
  Server()->Run("update " + place().Table("part") + " set bytes = 'two'");
  LogStore::Acquired acquired;
  EXPECT_EQ(Acquire(*b, Look(*b), ReignOf("b", 2), acquired), StoreAnswer::kFenced);
  Server()->Run("update " + place().Table("part") + " set bytes = 'one'");
  EXPECT_EQ(Acquire(*b, Look(*b), ReignOf("b", 2), acquired), StoreAnswer::kDone);
}

TEST_P(PostgresOnly, OneServerOfTwoNamesIsOnePrimary) {
  postgres::PostgresOptions options = place().options();
  const std::string directory = options.conninfo.substr(5, options.conninfo.find(' ') - 5);
  options.conninfo = "host=" + directory + "," + directory + "/../" + directory.substr(5) +
                     " dbname=postgres user=test";
  auto twice = place().NewStore(options);
  EXPECT_TRUE(Wait(*twice, [&](LogStore::Done done) { twice->Open(std::move(done)); }).done());
  Lead(*twice, "a");
}

// The wait for a standby is given up, with a success and a warning.
TEST_P(PostgresOnly, ACommitThatDidNotWaitIsNotBelieved) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  PostgresPlace::Alter("synchronous_standby_names", "nobody");
  bool over = true;
  StoreResult result;
  const std::string bytes = "part";
  int cancelled = 0;
  const auto cancel = [&] {
    cancelled += Server()->Run(
                     "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = "
                     "'SyncRep'") == "t";
  };
  // The first ones may go before all processes of the server know the setting.
  for (std::uint64_t seq = 2; cancelled == 0; ++seq) {
    over = false;
    a->Append(fence, seq, bytes, 1, [&](const StoreResult& answer) {
      over = true;
      result = answer;
    });
    place_->Turn({a.get()}, [&] {
      cancel();
      return over || cancelled >= 5;
    });
  }
  EXPECT_FALSE(over);
  place_->Turn({a.get()}, [&] {
    return a->Stats().trouble.ends_with("a commit waits for a synchronous standby");
  });
  PostgresPlace::Alter("synchronous_standby_names", "");
  place_->Turn({a.get()}, [&] { return over; });
  EXPECT_TRUE(result.done()) << result.why.message();
}

TEST_P(PostgresOnly, WhatOthersWroteIntoTheTablesEndsAnAppend) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  Server()->Run("insert into " + place().Table("part") + " values (2, 0, 'other')");
  EXPECT_EQ(Append(*a, fence, 2, "two"), StoreAnswer::kFailed);
}

TEST_P(PostgresOnly, AHoleBetweenPartitionsEndsAnAppend) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  Trim(*a, fence, 1);  // behind what is being made
  const std::string part = place().Table("part");
  Server()->Run("drop table " + place().Table("part_1_65") + "; create table " +
                place().Table("far") + " partition of " + part +
                " for values from (1000) to (1064)");
  auto b = NewStore();
  const Revision fresh = Lead(*b, "b");
  EXPECT_EQ(Append(*b, fresh, 2, "two"), StoreAnswer::kFailed);
}

// The server that was primary before had revisions that the one which was promoted has not.
TEST_P(PostgresOnly, AWatchGoesOnBehindThePartsThatWereReadWhateverTheirRevisions) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  auto b = NewStore();
  ASSERT_EQ(Read(*b, 1, 16).size(), 1U);
  Watched watched;
  b->Follow(Look(*b).at + 1000, watched);
  ASSERT_EQ(Append(*a, fence, 2, "two"), StoreAnswer::kDone);
  ASSERT_EQ(Append(*a, fence, 3, "three"), StoreAnswer::kDone);
  const std::string all = "part 2;part 3;";
  place_->Turn({b.get()}, [&] { return watched.said.size() >= all.size(); });
  EXPECT_EQ(watched.said, all);
}

TEST_P(PostgresOnly, PartitionsAreMadeAheadAndDroppedBehind) {
  const Revision fence = Lead(*a, "a");
  const std::string bytes(3000, 'x');
  for (std::uint64_t seq = 1; seq <= 300; ++seq) {
    ASSERT_EQ(Append(*a, fence, seq, bytes, seq > 200 ? 200 : 1), StoreAnswer::kDone);
  }
  // Another one may just be made behind them.
  const auto are_gone = [&] {
    return Server()->Run(
        "select string_agg(to_regclass(name)::text, ' ') is null from "
        "unnest(array['" +
        place().Table("part_1_65") + "', '" + place().Table("part_65_129") + "', '" +
        place().Table("part_129_193") + "']) name");
  };
  EXPECT_EQ(are_gone(), "f");
  EXPECT_EQ(Trim(*a, fence, 200), StoreAnswer::kDone);
  EXPECT_EQ(are_gone(), "t");
  EXPECT_EQ(Read(*a, 200, 1000).size(), 101U);
}

TEST_P(PostgresOnly, PiecesAreReadFromSeveralPartitionsAlsoWhenSessionsEnd) {
  const Revision fence = Lead(*a, "a");
  for (std::uint64_t seq = 1; seq <= 150; ++seq) {
    ASSERT_EQ(Append(*a, fence, seq, std::to_string(seq) + std::string(3000, 'x')),
              StoreAnswer::kDone);
  }
  using Pieces = std::vector<std::string>;
  const std::vector<PartPiece> wanted = {{150, 0, 3}, {1, 0, 2}, {64, 0, 3}, {65, 2, 3}, {1, 1, 1}};
  const Pieces expected = {"150", "1x", "64x", "xxx", "x"};
  Pieces read;
  EXPECT_EQ(Fetch(*a, fence, wanted, read), StoreAnswer::kDone);
  EXPECT_EQ(read, expected);
  bool over = false;
  a->Fetch(fence, wanted, [&](const StoreResult&, const Pieces& got) {
    read = got;
    over = true;
  });
  PostgresPlace::EndSessions();
  place_->Turn({a.get()}, [&] { return over; });
  EXPECT_EQ(read, expected);
}

TEST_P(PostgresOnly, APieceThatTheServerFindsDamagedFails) {
  if (Server()->Run("select 1 from pg_available_extensions where name = 'pg_surgery'") != "1") {
    GTEST_SKIP() << "there is no pg_surgery";
  }
  const Revision fence = Lead(*a, "a");
  const std::string large(8000, 'x');
  ASSERT_EQ(Append(*a, fence, 1, large), StoreAnswer::kDone);
  ASSERT_EQ(Append(*a, fence, 2, large), StoreAnswer::kDone);
  Server()->Run("create extension if not exists pg_surgery");
  Server()->Run(
      "select heap_force_kill(reltoastrelid::regclass, array['(0,2)'::tid]) from pg_class where "
      "oid = '" +
      place().Table("part_1_65") + "'::regclass");
  std::vector<std::string> read;
  EXPECT_EQ(Fetch(*a, fence, {{1, 0, 10}, {2, 0, 8000}}, read), StoreAnswer::kDone);
  EXPECT_EQ(Fetch(*a, fence, {{1, 3000, 10}}, read), StoreAnswer::kFailed);
  StoreResult result = Wait(*a, [&](const LogStore::Done& done) {
    a->Fetch(fence, {{1, 0, 8000}},
             [done](const StoreResult& failed, const std::vector<std::string>&) { done(failed); });
  });
  EXPECT_EQ(result.why.code(), Code::kCorrupt) << result.why.message();
}

// What the store takes for an earlier try that worked.
TEST_P(PostgresOnly, APartitionThatIsMadeTwiceIsSaidToBeAttached) {
  Lead(*a, "a");
  const std::string sql =
      postgres::Statements(place().options().schema).MakePartition(5000, 5064).sql;
  PGconn* const connection = PQconnectdb(Server()->conninfo().c_str());
  PQclear(PQexec(connection, "set client_min_messages = error"));
  for (const char* state : {"", "42809"}) {
    PGresult* const made = PQexec(connection, sql.c_str());
    const char* said = PQresultErrorField(made, PG_DIAG_SQLSTATE);
    EXPECT_STREQ(said == nullptr ? "" : said, state) << PQresultErrorMessage(made);
    PQclear(made);
  }
  PQfinish(connection);
}

TEST_P(PostgresOnly, AReloadOfTheServerLeavesASessionWhatWasChecked) {
  PGconn* const connection = PQconnectdb(Server()->conninfo().c_str());
  const auto value = [&](const std::string& sql) {
    PGresult* const result = PQexec(connection, sql.c_str());
    const std::string text = PQgetvalue(result, 0, 0);
    PQclear(result);
    return text;
  };
  value(postgres::AskFacts().sql);
  PostgresPlace::Alter("synchronous_commit", "off");
  EXPECT_EQ(Server()->Run("show synchronous_commit"), "off");
  EXPECT_EQ(value("show synchronous_commit"), "on");
  PQfinish(connection);
  PostgresPlace::Alter("synchronous_commit", "");
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresOnly, testing::Values("postgres"));

}  // namespace
}  // namespace gearstalk
