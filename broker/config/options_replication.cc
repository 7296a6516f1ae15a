#include "broker/config/kinds.h"
#include "broker/config/option_tables.h"

namespace gearstalk {

using kinds::kAnySize;
using kinds::List;
using kinds::Number;
using kinds::Text;
using kinds::Truth;

#define FIELD(path) ([](auto& config) -> auto& { return config.path; })

std::vector<Option> OptionsOfEtcd() {
  return {
      {"etcd.endpoints", Apply::kRestart, List(FIELD(etcd.endpoints), "HOST:PORT", ' '),
       "Node of the etcd cluster that keeps the journal, which several brokers then share; "
       "https://HOST:PORT for TLS. Excludes data_dir. May be repeated.",
       "the journal is not replicated", "10.0.0.1:2379"},
      {"etcd.prefix", Apply::kRestart, Text(FIELD(etcd.prefix), "TEXT"),
       "What all keys of this shard begin with; ends with '/'."},
      {"etcd.user", Apply::kRestart, Text(FIELD(etcd.user), "TEXT"),
       "User of etcd, with the right to read and write the keys below the prefix.",
       "etcd asks for none", "gearstalkd"},
      {"etcd.password_file", Apply::kStore, Text(FIELD(etcd.password_file), "FILE"),
       "File whose first line is the user's password; read again at SIGHUP.", "none",
       "/etc/gearstalkd/etcd-password"},
      {"etcd.ca", Apply::kStore, Text(FIELD(etcd.ca), "FILE"),
       "Authorities that sign the certificates of etcd (PEM); read again at SIGHUP.",
       "those of the system", "/etc/gearstalkd/etcd-ca.pem"},
      {"etcd.certificate", Apply::kStore, Text(FIELD(etcd.certificate), "FILE"),
       "This broker's certificate for etcd (PEM); read again at SIGHUP.", "none",
       "/etc/gearstalkd/etcd.pem"},
      {"etcd.key", Apply::kStore, Text(FIELD(etcd.key), "FILE"),
       "Key of that certificate (PEM); read again at SIGHUP.", "the file of the certificate",
       "/etc/gearstalkd/etcd.key"},
      {"etcd.compact", Apply::kRestart, Truth(FIELD(etcd.compact)),
       "Compact etcd's history after old parts of the journal were deleted. It is the history of "
       "the whole cluster: false where others use it, too."},
  };
}

std::vector<Option> OptionsOfPostgres() {
  return {
      {"postgres.conninfo", Apply::kRestart, Text(FIELD(postgres.conninfo), "TEXT"),
       "Where PostgreSQL keeps the journal: libpq's keywords, or a URI. Name all "
       "servers that may become primary. Excludes etcd.endpoints and data_dir.",
       "the journal is not in PostgreSQL", "host=10.0.0.1,10.0.0.2 dbname=jobs user=gearstalkd"},
      {"postgres.schema", Apply::kRestart, Text(FIELD(postgres.schema), "NAME"),
       "Schema of this shard's tables, at most 63 bytes. The broker makes it if it is missing and "
       "the role has the right."},
      {"postgres.password_file", Apply::kStore, Text(FIELD(postgres.password_file), "FILE"),
       "File whose first line is the role's password; read again at SIGHUP.",
       "that of conninfo, or of ~/.pgpass", "/etc/gearstalkd/postgres-password"},
      {"postgres.ca", Apply::kStore, Text(FIELD(postgres.ca), "FILE"),
       "Authorities that sign the certificates of the servers (PEM), whose names are then checked; "
       "read again at SIGHUP.",
       "certificates are not checked", "/etc/gearstalkd/postgres-ca.pem"},
      {"postgres.certificate", Apply::kStore, Text(FIELD(postgres.certificate), "FILE"),
       "This broker's certificate for PostgreSQL (PEM); read again at SIGHUP.", "none",
       "/etc/gearstalkd/postgres.pem"},
      {"postgres.key", Apply::kStore, Text(FIELD(postgres.key), "FILE"),
       "Key of that certificate (PEM); read again at SIGHUP.", "the file of the certificate",
       "/etc/gearstalkd/postgres.key"},
      {"postgres.allow_unsafe", Apply::kRestart, Truth(FIELD(postgres.allow_unsafe)),
       "Start also where PostgreSQL confirms commits that it can lose (fsync or synchronous_commit "
       "is off): for tests."},
  };
}

std::vector<Option> OptionsOfReplica() {
  return {
      {"replica.lease", Apply::kRestart,
       Number(FIELD(replica.lease), "ms", 500, 60'000, kMillisecond),
       "Time without a sign of life of the active broker, after which another one takes over."},
      {"replica.name", Apply::kRestart, Text(FIELD(replica.name), "TEXT"),
       "Name of this broker in the shared journal, in logs and on /readyz.", "the host's name",
       "broker-1"},
      {"replica.address", Apply::kRestart, Text(FIELD(replica.address), "TEXT"),
       "Address of this broker that the other brokers report.", "the first address of listen",
       "10.0.0.11:11300"},
      {"replica.max_bytes", Apply::kRestart,
       Number(FIELD(replica.max_bytes), "bytes", 1 << 20, kAnySize),
       "Size of the shared journal; when 7/8 of it are used, only deletions are accepted. etcd's "
       "quota should be twice the size and 1 GiB.",
       "with etcd.endpoints: 1073741824; with postgres.conninfo: no limit", "1073741824"},
  };
}

#undef FIELD

}  // namespace gearstalk
