// What two configurations differ in.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/config/option.h"
#include "tests/config/source.h"

namespace gearstalk {
namespace {

// A value of each option that is not its default.
const std::vector<std::pair<std::string, std::string>> kOthers = {
    {"listen", "127.0.0.1:1"},
    {"routers", "auto"},
    {"admin", "127.0.0.1:2"},
    {"data_dir", "/jobs"},
    {"sync", "7ms"},
    {"journal.verify", "1"},
    {"max_job_size", "1"},
    {"server_name", "other"},
    {"log_level", "trace"},
    {"log_format", "json"},
    {"log_to", "syslog"},
    {"limits.connections", "1"},
    {"limits.connections_per_address", "1"},
    {"limits.memory", "1"},
    {"limits.bodies", "1"},
    {"limits.free_disk", "1"},
    {"limits.tubes", "1"},
    {"limits.output", "5000"},
    {"limits.idle_timeout", "1"},
    {"limits.handshake_timeout", "1"},
    {"limits.maxqueue", "mail 1"},
    {"limits.stop_timeout", "2"},
    {"tls.certificate", "/c"},
    {"tls.key", "/k"},
    {"tls.client_ca", "/a"},
    {"tls.client_certificates", "required"},
    {"rights", "* none"},
    {"shutdown_from", "nowhere"},
    {"metrics_tubes", "1"},
    {"user", "nobody"},
    {"pid_file", "/p"},
    {"daemon", "true"},
    {"beanstalk.version", "1"},
    {"gearman.version", "1"},
    {"gearman.default_ttr", "1"},
    {"gearman.job_retries", "1"},
    {"gearman.idle_functions", "1"},
    {"gearman.worker_wakeup", "all"},
    {"gearman.exceptions", "true"},
    {"gearman.priority_high", "1"},
    {"gearman.priority_normal", "1"},
    {"gearman.priority_low", "1"},
    {"console.enabled", "false"},
    {"console.users", "u viewer sha256:"},
    {"console.anonymous", "viewer"},
    {"console.hosts", "h"},
    {"console.proxies", "unix"},
    {"console.base_path", "/b"},
    {"console.rate", "1"},
    {"console.history_file", "/h"},
    {"import_binlog", "no"},
    {"etcd.endpoints", "127.0.0.1:1"},
    {"etcd.prefix", "/p/"},
    {"etcd.user", "u"},
    {"etcd.password_file", "/p"},
    {"etcd.ca", "/a"},
    {"etcd.certificate", "/c"},
    {"etcd.key", "/k"},
    {"etcd.compact", "false"},
    {"postgres.conninfo", "host=/run"},
    {"postgres.schema", "jobs"},
    {"postgres.password_file", "/p"},
    {"postgres.ca", "/a"},
    {"postgres.certificate", "/c"},
    {"postgres.key", "/k"},
    {"postgres.allow_unsafe", "true"},
    {"replica.lease", "3000"},
    {"replica.name", "n"},
    {"replica.address", "127.0.0.1:1"},
    {"replica.max_bytes", "1000000000"},
    {"time_zone", "Europe/Berlin"},
    {"tube_order", "fair"},
};

TEST(Difference, IsEmptyBetweenEquals) { EXPECT_TRUE(Difference(Config(), Config()).empty()); }

TEST(Difference, NamesTheOptionThatChanged) {
  EXPECT_EQ(kOthers.size(), Options().size());
  for (const auto& [key, value] : kOthers) {
    const Option* option = FindOption(key);
    ASSERT_NE(option, nullptr) << key;
    const Config config = Good({FlagOf(*option), value});
    const std::vector<const Option*> changed = Difference(Config(), config);
    ASSERT_EQ(changed.size(), 1U) << key;
    EXPECT_EQ(changed[0], option) << key;
  }
}

TEST(Difference, GoesWhenTheFieldIsCopied) {
  for (const auto& [key, value] : kOthers) {
    const Option* option = FindOption(key);
    Config config = Good({FlagOf(*option), value});
    option->kind.copy(Config(), config);
    EXPECT_TRUE(Difference(Config(), config).empty()) << key;
  }
}

}  // namespace
}  // namespace gearstalk
