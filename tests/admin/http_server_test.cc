#include "admin/http_server.h"

#include <event2/event.h>
#include <gtest/gtest.h>

#include <memory>

namespace gearstalk {
namespace {

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

TEST_F(HttpServerTest, HandsTheQueryOn) {
  auto server = HttpServer::Open(base_.get(), "127.0.0.1:0");
  ASSERT_TRUE(server.ok());
  server.value()->Serve("/here", [](const HttpQuery& query) {
    return HttpAnswer{.body = query.contains("a") ? query.at("a") : "none"};
  });
  EXPECT_EQ(server.value()->Answer("/here").body, "none");
  EXPECT_EQ(server.value()->Answer("/here", {{"a", "b"}}).body, "b");
}

TEST_F(HttpServerTest, APortAloneIsOnLoopback) {
  for (const char* address : {":0", "0"}) {
    const auto server = HttpServer::Open(base_.get(), address);
    ASSERT_TRUE(server.ok()) << address;
    EXPECT_TRUE(server.value()->name().starts_with("127.0.0.1:")) << server.value()->name();
  }
}

TEST_F(HttpServerTest, RefusesAddressesByName) {
  for (const char* address : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    const auto server = HttpServer::Open(base_.get(), address);
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_NE(server.status().message().find(address), std::string::npos) << address;
  }
}

}  // namespace
}  // namespace gearstalk
