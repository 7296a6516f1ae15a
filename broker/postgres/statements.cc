#include "broker/postgres/statements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gearstalk::postgres {

const StoreWords kPostgresWords = {
    .name = "PostgreSQL",
    .within = "in",
    .shard = "schema",
    .option = "postgres.schema",
    .erase = "drop the schema",
    .command = "drop schema ... cascade",
    .backup = "backup",
    .make_room = "give it space; the broker tries again each second"};

namespace {

constexpr char kLockTimeout[] = "set local lock_timeout = '100ms'; ";

// Columns of ShardRow, of a shard `s` and its tail `t`.
constexpr char kRow[] =
    "s.revision - s.last + t.last, s.epoch, s.beat, t.last, s.oldest, "
    "(s.leader->>'at')::bigint, s.leader->>'broker', s.leader->>'address', s.leader->>'id', "
    "(s.leader->>'attempt')::bigint, (s.leader->>'epoch')::bigint, "
    "(s.leader->>'lease_ms')::bigint, (s.leader->>'vacant')::boolean, "
    "(s.meta->>'at')::bigint, (s.meta->>'format')::bigint, s.meta->>'server_name', "
    "s.meta->>'created', (s.meta->'standby'->>'at')::bigint";
// How far acquires and releases raise the revision: above those of all parts that were appended
// since the statement's snapshot.
constexpr char kReignAhead[] = "4294967296";

// A prefix that ends with a whole character of UTF-8.
std::string Cut(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string Doubled(const std::string& text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

}  // namespace

std::string Quoted(const std::string& name) { return Doubled(name, '"'); }
std::string Literal(const std::string& text) { return Doubled(text, '\''); }

std::string ChannelOf(const std::string& schema) {
  return Cut("gearstalkd_" + schema, kLongestName);
}

// PostgreSQL cuts the name, and keeps ASCII alone.
std::string SessionName(const std::string& schema, std::uint64_t epoch) {
  const std::string end = "/" + std::to_string(epoch);
  std::string name = ("gearstalkd/" + schema).substr(0, kLongestName - end.size());
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~' || c == '\\' || c == '\'' || c == '"'; }, '?');
  return name + end;
}

ShardRow ReadShardRow(const Rows& rows) {
  ShardRow row;
  if (rows.empty()) return row;
  LogView& view = row.view;
  view.at = rows.Number(0, 0);
  row.epoch = rows.Unsigned(0, 1);
  view.beat_at = rows.Number(0, 2);
  view.last = rows.Unsigned(0, 3);
  view.oldest = rows.Unsigned(0, 4);
  view.tail_at = rows.Number(0, 3);
  view.leader_at = rows.Number(0, 5);
  view.leader.broker = rows.Text(0, 6);
  view.leader.address = rows.Text(0, 7);
  view.leader.id = rows.Text(0, 8);
  view.leader.attempt = rows.Unsigned(0, 9);
  view.leader.epoch = rows.Unsigned(0, 10);
  view.leader.lease = rows.Number(0, 11) * kMillisecond;
  view.leader.vacant = rows.Flag(0, 12);
  view.meta_at = rows.Number(0, 13);
  view.meta.format = static_cast<std::uint32_t>(rows.Number(0, 14));
  view.meta.server_name = rows.Text(0, 15);
  view.meta.created = rows.Text(0, 16);
  view.standby_at = rows.Number(0, 17);
  return row;
}

std::vector<Partition> ReadPartitions(const Rows& rows) {
  std::vector<Partition> partitions;
  for (int i = 0; i < rows.size(); ++i) {
    if (rows.IsNull(i, 0) || rows.IsNull(i, 1) || rows.IsNull(i, 2)) continue;
    partitions.push_back({std::string(rows.Text(i, 0)), rows.Unsigned(i, 1), rows.Unsigned(i, 2),
                          rows.Unsigned(i, 3)});
  }
  return partitions;
}

Statements::Statements(const std::string& schema)
    : schema_(Quoted(schema)),
      shard_(schema_ + ".shard"),
      part_(schema_ + ".part"),
      newest_("(select seq from " + part_ + " order by seq desc limit 1)"),
      tail_("cross join lateral (select greatest(s.last, " + newest_ + ") as last) t"),
      channel_(ChannelOf(schema)),
      lock_("select pg_advisory_xact_lock(hashtext(" + Literal("gearstalkd/" + schema) + ")); ") {}

Statement Statements::HasSchema() const {
  return {"select to_regnamespace($1::text) is not null", {schema_}};
}

// Brokers may do this at the same time. A table `of` another schema is never meant: all names are
// qualified.
Statement Statements::MakeTables(bool with_schema) const {
  std::string sql = lock_;
  if (with_schema) sql += "create schema if not exists " + schema_ + "; ";
  sql += fmt::format(
      "create table if not exists {0} (id int primary key, meta jsonb, leader jsonb, epoch bigint, "
      "beat bigint, last bigint, oldest bigint, revision bigint) with (fillfactor = 50); "
      "create table if not exists {1} (seq bigint primary key, revision bigint, bytes bytea) "
      "partition by range (seq); "
      "alter table {1} alter column bytes set storage external; "
      "insert into {0} values (0, null, null, 0, 0, 0, 1, 0) on conflict do nothing",
      shard_, part_);
  return {sql, {}, true};
}

Statement Statements::Look() const {
  return {fmt::format("select {} from {} s {} where s.id = $1::int", kRow, shard_, tail_), {"0"}};
}

Statement Statements::Found(const ShardMeta& meta) const {
  return {
      fmt::format("update {} set revision = revision + 1, meta = jsonb_build_object('format', "
                  "$1::bigint, 'server_name', $2::text, 'shard', $3::bigint, 'created', $4::text, "
                  "'at', revision + 1) where id = 0 and meta is null and leader is null "
                  "returning revision",
                  shard_),
      {std::uint64_t{meta.format}, meta.server_name, std::uint64_t{meta.shard}, meta.created}};
}

Statement Statements::ReplaceMeta(Revision seen, const ShardMeta& meta) const {
  return {fmt::format("update {} set revision = revision + 1, meta = coalesce(meta, '{{}}') || "
                      "jsonb_build_object('format', $1::bigint, 'server_name', $2::text, 'shard', "
                      "$3::bigint, 'created', $4::text, 'at', revision + 1) where id = 0 and "
                      "coalesce((meta->>'at')::bigint, 0) = $5::bigint returning revision",
                      shard_),
          {std::uint64_t{meta.format}, meta.server_name, std::uint64_t{meta.shard}, meta.created,
           seen}};
}

Statement Statements::Announce(const Reign& standby) const {
  return {fmt::format(
              "update {} set revision = revision + 1, meta = jsonb_set(meta, '{{standby}}', "
              "jsonb_build_object('broker', $1::text, 'address', $2::text, 'at', revision + 1)) "
              "where id = 0 and meta is not null returning revision",
              shard_),
          {standby.broker, standby.address}};
}

// An epoch is above all that were before: it alone tells two reigns apart. What the shard is then
// has to be looked at afterwards: an append may have come before this statement had the row.
Statement Statements::Acquire(const LogView& seen, const Reign& reign, const LogPart& part) const {
  const bool silent = seen.leader_at != 0 && !seen.leader.vacant;
  return {fmt::format(
              "with led as (update {0} set leader = jsonb_build_object('broker', $1::text, 'id', "
              "$2::text, 'attempt', $3::bigint, 'epoch', $4::bigint, 'lease_ms', $5::bigint, "
              "'address', $6::text, 'vacant', false, 'at', revision + {2}), epoch = "
              "greatest($4::bigint, epoch + 1), beat = beat + 1, revision = revision + {2} where "
              "id = 0 and coalesce((leader->>'at')::bigint, 0) = $7::bigint and (beat = "
              "$8::bigint or $8::bigint < 0) and (oldest > $9::bigint or "
              "exists (select from {1} where seq = $9::bigint and bytes = $10::bytea)) "
              "returning revision) select revision, {3} from led",
              shard_, part_, kReignAhead, Notify()),
          {reign.broker, reign.id, reign.attempt, reign.epoch, reign.lease / kMillisecond,
           reign.address, seen.leader_at, silent ? seen.beat_at : -1, part.seq,
           Parameter::Bytes(part.bytes)}};
}

// An append locks the row, so that nobody acquires the shard meanwhile, and writes it only when
// `oldest` changes. Each write leaves a version of the row until the longest transaction of the
// database has ended, which may be a dump, and each statement goes through all versions.
// A notification costs a lock of the whole database at the commit, so not each append makes one.
Statement Statements::Append(std::uint64_t epoch, std::uint64_t seq, const std::string& bytes,
                             std::optional<std::uint64_t> oldest, bool notify) const {
  const std::string here = fmt::format(
      "id = 0 and epoch = $1::bigint and (last = $2::bigint - 1 or exists (select from {} where "
      "seq = $2::bigint - 1))",
      part_);
  const std::string tail =
      oldest ? fmt::format(
                   "update {} set last = $2::bigint, oldest = $4::bigint, revision = "
                   "revision - last + $2::bigint where {} returning revision",
                   shard_, here)
             : fmt::format(
                   "select revision - last + $2::bigint as revision from {} where {} for "
                   "share",
                   shard_, here);
  Statement statement{
      fmt::format("with tail as ({}), put as (insert into {} select $2::bigint, revision, "
                  "$3::bytea from tail on conflict do nothing returning revision) select "
                  "revision{} from put",
                  tail, part_, notify ? ", " + Notify() : ""),
      {epoch, seq, Parameter::Bytes(bytes)}};
  if (oldest) statement.parameters.emplace_back(*oldest);
  return statement;
}

Statement Statements::Beat(std::uint64_t epoch) const {
  return {fmt::format(
              "with beaten as (update {} set beat = beat + 1, revision = revision + 1 where id = 0 "
              "and epoch = $1::bigint returning last) select greatest(last, {}), {} from beaten",
              shard_, newest_, Notify()),
          {epoch}};
}

Statement Statements::Release(std::uint64_t epoch) const {
  return {fmt::format(
              "with led as (update {0} set leader = leader || jsonb_build_object('vacant', true, "
              "'at', revision + {1}), revision = revision + {1} where id = 0 and epoch = "
              "$1::bigint and not (leader->>'vacant')::boolean returning revision) select "
              "revision, {2} from led",
              shard_, kReignAhead, Notify()),
          {epoch}};
}

Statement Statements::Confirm(std::uint64_t seq, const std::string& bytes) const {
  return {
      fmt::format("select {}, (select bytes = $2::bytea from {} where seq = $1::bigint), "
                  "pg_logical_emit_message(true, 'gearstalkd', '')::text from {} s {} where s.id = "
                  "0",
                  kRow, part_, shard_, tail_),
      {seq, Parameter::Bytes(bytes)}};
}

Statement Statements::Message() const {
  return {"select pg_logical_emit_message(true, 'gearstalkd', $1::text)::text", {""}};
}

Statement Statements::Read(std::uint64_t from, std::uint64_t count, Revision at) const {
  return {fmt::format(
              "select s.oldest, greatest(s.last, {}), p.seq, p.bytes from (select 1) one left join "
              "{} s on s.id = 0 left "
              "join lateral (select seq, bytes from {} where seq >= $1::bigint and ($3::bigint = 0 "
              "or revision <= $3::bigint) order by seq limit $2::bigint) p on true order by p.seq",
              newest_, shard_, part_),
          {from, count, at}};
}

Statement Statements::Poll(std::uint64_t next, Revision from, std::uint64_t count) const {
  return {fmt::format(
              "with first as (select case when $1::bigint > 0 then $1::bigint else "
              "coalesce((select seq + 1 from {1} where revision < $2::bigint order by seq desc "
              "limit 1), 1) end as seq) select {2}, first.seq, p.seq, p.revision, p.bytes from {0} "
              "s {3} cross join first left join lateral (select seq, revision, bytes from {1} part "
              "where part.seq >= first.seq order by part.seq limit $3::bigint) p on true where "
              "s.id = 0 order by p.seq",
              shard_, part_, kRow, tail_),
          {next, from, count}};
}

// The numbers are repeated so that only partitions are looked at that have one of them.
Statement Statements::Fetch(const std::vector<PartPiece>& pieces) const {
  std::string parts, offsets, sizes;
  for (const PartPiece& piece : pieces) {
    const char* const comma = parts.empty() ? "{" : ",";
    parts += fmt::format("{}{}", comma, piece.seq);
    offsets += fmt::format("{}{}", comma, piece.offset + 1);
    sizes += fmt::format("{}{}", comma, piece.size);
  }
  return {fmt::format(
              "select s.epoch, substring(p.bytes from w.begins for w.size) from unnest("
              "$1::bigint[], $2::int[], $3::int[]) with ordinality w(seq, begins, size, number) "
              "left join {} p on p.seq = w.seq and p.seq = any($1::bigint[]) left join {} s on "
              "s.id = 0 order by w.number",
              part_, shard_),
          {parts + "}", offsets + "}", sizes + "}"}};
}

Statement Statements::Partitions() const {
  return {fmt::format(
              "select c.relname::text, substring(pg_get_expr(c.relpartbound, c.oid) from "
              "'FROM \\(''?(\\d+)')::bigint, substring(pg_get_expr(c.relpartbound, c.oid) from "
              "'TO \\(''?(\\d+)')::bigint, pg_table_size(c.oid)::bigint from pg_inherits i join "
              "pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 2"),
          {part_}};
}

// A table of its own that is attached does not wait behind a dump, and appends not behind it.
Statement Statements::MakePartition(std::uint64_t from, std::uint64_t to) const {
  const std::string name = fmt::format("{}.part_{}_{}", schema_, from, to);
  return {fmt::format("{0}{1}create table if not exists {2} (like {3} including storage, primary "
                      "key (seq)); alter table {3} attach partition {2} for values from ({4}) to "
                      "({5})",
                      kLockTimeout, lock_, name, part_, from, to),
          {},
          true};
}

Statement Statements::Drop(const std::string& partition) const {
  return {fmt::format("{}drop table if exists {}.{}", kLockTimeout, schema_, Quoted(partition)),
          {},
          true};
}

Statement Statements::WhatHolds(const std::vector<std::int64_t>& silent,
                                const std::vector<std::int64_t>& own) {
  return {
      fmt::format("select coalesce(bool_or(wait_event = 'SyncRep'), false), (select "
                  "string_agg(distinct holder::text, ', ') from unnest(array[{0}]::int[]) pid, "
                  "unnest(pg_blocking_pids(pid)) holder where holder not in (0, {1})) from "
                  "pg_stat_activity where pid in ({0})",
                  fmt::join(silent, ", "), fmt::join(own, ", "))};
}

Statement Statements::Terminate(std::int64_t blocked, const std::vector<std::int64_t>& own,
                                const std::vector<std::string>& names) {
  std::string except, among;
  for (const std::int64_t pid : own) except += fmt::format(", {}", pid);
  for (const std::string& name : names) among += (among.empty() ? "" : ", ") + Literal(name);
  return {fmt::format("select count(pg_terminate_backend(pid)) from pg_stat_activity where pid = "
                      "any (pg_blocking_pids($1::int)) and usename = current_user and "
                      "application_name in ({}) and pid not in (0{})",
                      among, except),
          {blocked}};
}

std::string Statements::Notify() const { return "pg_notify(" + Literal(channel_) + ", '')::text"; }

}  // namespace gearstalk::postgres
