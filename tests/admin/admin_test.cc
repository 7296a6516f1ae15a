#include <event2/event.h>
#include <gtest/gtest.h>

#include <memory>

#include "admin/http_server.h"
#include "admin/metrics.h"
#include "broker/journal/memory_journal.h"

namespace gearstalk {
namespace {

class NoConnections final : public ConnectionList {
 public:
  void ForEach(const std::function<void(const Peer&, const Session*)>&) const override {}
  std::size_t Count() const override { return 3; }
  std::uint64_t Total() const override { return 9; }
};

class Producer final : public Consumer {};

TEST(Metrics, SayWhatTheEngineCounts) {
  MemoryJournal journal;
  Engine engine({}, journal);
  Producer producer;
  engine.Join(producer);
  engine.Use(producer, "t");
  engine.Put(kSecond, producer, Job::New(3));
  JobPtr later = Job::New(0);
  later->delay_s = 5;
  engine.Put(kSecond, producer, std::move(later));
  const std::string text =
      MetricsText(engine, NoConnections(), {.received_bytes = 7, .sent_bytes = 8});
  for (const char* line :
       {"gearstalkd_jobs{state=\"ready\"} 1\n", "gearstalkd_jobs{state=\"delayed\"} 1\n",
        "gearstalkd_jobs_total 2\n", "gearstalkd_tubes 2\n", "gearstalkd_connections 3\n",
        "gearstalkd_connections_total 9\n", "gearstalkd_connections_by_role{role=\"producer\"} 1\n",
        "gearstalkd_received_bytes_total 7\n", "gearstalkd_sent_bytes_total 8\n",
        "gearstalkd_draining 0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is missing in\n" << text;
  }
  EXPECT_EQ(text.find("journal"), std::string::npos) << "there is no journal to speak of";
  engine.Leave(kSecond, producer);
}

class HttpServerTest : public testing::Test {
 protected:
  std::unique_ptr<event_base, void (*)(event_base*)> base_{event_base_new(), event_base_free};
};

TEST_F(HttpServerTest, AnswersItsPagesOnly) {
  auto server = HttpServer::Open(base_.get(), "127.0.0.1:0");
  ASSERT_TRUE(server.ok());
  server.value()->Serve("/here", [] { return HttpAnswer{.status = 503, .body = "busy"}; });
  EXPECT_EQ(server.value()->Answer("/here").status, 503);
  EXPECT_EQ(server.value()->Answer("/here").body, "busy");
  EXPECT_EQ(server.value()->Answer("/there").status, 404);
  EXPECT_NE(server.value()->name(), "127.0.0.1:0") << "the port that was taken";
}

TEST_F(HttpServerTest, RefusesAddressesByName) {
  for (const char* address :
       {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    const auto server = HttpServer::Open(base_.get(), address);
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_NE(server.status().message().find(address), std::string::npos) << address;
  }
}

}  // namespace
}  // namespace gearstalk
