#include "broker/postgres/conninfo.h"

#include <gtest/gtest.h>

#include <fstream>

namespace gearstalk::postgres {
namespace {

std::vector<Host> Hosts(const std::string& conninfo, const PostgresOptions& more = {}) {
  PostgresOptions options = more;
  options.conninfo = conninfo;
  Result<std::vector<Host>> hosts = HostsOf(options);
  EXPECT_TRUE(hosts.ok()) << hosts.status().message();
  return hosts.ok() ? hosts.value() : std::vector<Host>();
}

std::string Refusal(const std::string& conninfo, const PostgresOptions& more = {}) {
  PostgresOptions options = more;
  options.conninfo = conninfo;
  const Result<std::vector<Host>> hosts = HostsOf(options);
  EXPECT_FALSE(hosts.ok());
  return hosts.ok() ? "" : hosts.status().message();
}

TEST(Conninfo, EachHostHasItsPort) {
  const std::vector<Host> hosts = Hosts("host=a,b,c port=1,2,3 dbname=jobs user=broker");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[1].name, "b:2");
  EXPECT_EQ(hosts[1].words.at("dbname"), "jobs");
  EXPECT_EQ(Hosts("postgresql://u@a:5433,b/jobs")[0].name, "a:5433");
  EXPECT_EQ(Hosts("host=a,b port=7")[1].name, "b:7");
  EXPECT_EQ(Hosts("host=/run/postgresql")[0].name, "/run/postgresql:5432");
}

TEST(Conninfo, TlsIsRequiredUnlessTheHostIsLocalOrTheWordsSayOtherwise) {
  EXPECT_EQ(Hosts("host=db.example")[0].words.at("sslmode"), "require");
  EXPECT_FALSE(Hosts("host=127.0.0.1")[0].words.contains("sslmode"));
  EXPECT_FALSE(Hosts("host=/run")[0].words.contains("sslmode"));
  EXPECT_EQ(Hosts("host=db.example sslmode=disable")[0].words.at("sslmode"), "disable");
  PostgresOptions options;
  options.ca = testing::TempDir() + "ca.pem";
  std::ofstream(options.ca) << "-----BEGIN CERTIFICATE-----\n";
  EXPECT_EQ(Hosts("host=db.example", options)[0].words.at("sslmode"), "verify-full");
}

TEST(Conninfo, WhatCannotBeMeantIsRefused) {
  EXPECT_EQ(Refusal("host=a nonsense=1"),
            "postgres.conninfo: invalid connection option \"nonsense\"");
  EXPECT_NE(Refusal("dbname=jobs").find("names no host="), std::string::npos);
  EXPECT_NE(Refusal("host=a,b port=1,2,3").find("the same number"), std::string::npos);
  EXPECT_NE(Refusal("host=a options=-cfsync=off").find("options"), std::string::npos);
  PostgresOptions options;
  options.schema = std::string(64, 's');
  EXPECT_NE(Refusal("host=a", options).find("63 bytes"), std::string::npos);
  options = {};
  options.password_file = "/nowhere";
  EXPECT_NE(Refusal("host=a", options).find("postgres.password_file: cannot read /nowhere"),
            std::string::npos);
  options = {};
  options.ca = "/dev/null";
  EXPECT_EQ(Refusal("host=a", options), "postgres.ca: /dev/null is no PEM file");
  options = {};
  options.key = "/dev/null";
  EXPECT_EQ(Refusal("host=a", options), "postgres.key needs postgres.certificate");
}

}  // namespace
}  // namespace gearstalk::postgres
