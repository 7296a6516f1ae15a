// Where the tries of a call go. Time stands still but for what a test adds.

#include "broker/etcd/caller.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include "broker/etcd/etcd_store.h"
#include "tests/etcd/etcd_process.h"

namespace gearstalk {
namespace {

// Greets who connects and answers pings, as an HTTP/2 server does, and nothing else.
class MuteServer {
 public:
  MuteServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~MuteServer() {
    for (const int client : clients_) close(client);
    close(fd_);
  }
  MuteServer(const MuteServer&) = delete;
  MuteServer& operator=(const MuteServer&) = delete;

  const std::string& address() const { return address_; }
  void Serve() {
    for (const int client : clients_) AnswerPing(client);
    const int client = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client == -1) return;
    clients_.push_back(client);
    send(client, kSettings.data(), kSettings.size(), MSG_NOSIGNAL);
  }

 private:
  static constexpr std::string_view kSettings{"\0\0\0\4\0\0\0\0\0", 9};
  static constexpr std::string_view kPing{"\0\0\10\6\0\0\0\0\0", 9};

  static void AnswerPing(int client) {
    char bytes[4096];
    const ssize_t size = recv(client, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size <= 0) return;
    std::string frames(bytes, static_cast<std::size_t>(size));
    const std::size_t ping = frames.find(kPing);
    if (ping == std::string::npos) return;
    frames[ping + 4] = 1;  // the answer
    send(client, frames.data() + ping, kPing.size() + 8, MSG_NOSIGNAL);
  }

  const int fd_;
  std::string address_;
  std::vector<int> clients_;
};

class CallerTest : public testing::Test {
 protected:
  void SetUp() override {
    etcd = EtcdProcess::Start();
    if (etcd == nullptr) GTEST_SKIP() << "there is no etcd";
  }
  void Connect(const std::vector<std::string>& endpoints, Time lease) {
    etcd::EtcdOptions options;
    options.endpoints = endpoints;
    options.prefix = "/test/";
    options.lease = lease;
    store = std::make_unique<etcd::EtcdStore>(options, etcd::EtcdSecrets{}, [this] { return now; });
  }
  void Look() {
    answered = false;
    store->Look([this](const StoreResult& result, const LogView&) { answered = result.done(); });
  }
  bool Turn(const std::function<bool()>& over) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!over() && std::chrono::steady_clock::now() < limit) {
      pollfd ready{store->NotifyFd(), POLLIN, 0};
      poll(&ready, 1, 10);
      mute.Serve();
      store->OnNotify();
      store->Tick(now);
    }
    return over();
  }
  // The node is up when it answers.
  void ConnectToEtcd(Time lease) {
    Connect({etcd->endpoint()}, lease);
    Look();
    EXPECT_TRUE(Turn([&] {
      now += kMillisecond;
      return answered;
    }));
  }

  std::unique_ptr<EtcdProcess> etcd;
  MuteServer mute;
  std::unique_ptr<LogStore> store;
  Time now = 1000 * kSecond;
  bool answered = false;
};

// Otherwise the leader that is would lose time on a node that is down, and its lead, whenever
// etcd elects a new leader.
TEST_F(CallerTest, ARefusalDoesNotUseUpATurn) {
  ConnectToEtcd(60 * kSecond);
  Connect({mute.address(), FreeAddress(), etcd->endpoint()}, 60 * kSecond);
  Look();
  now += 60 * kSecond / 8;
  EXPECT_TRUE(Turn([&] { return answered; }));
}

TEST_F(CallerTest, ANodeWhoseTryTookTooLongIsTriedAgain) {
  ConnectToEtcd(kSecond);
  etcd->Signal(SIGSTOP);
  Look();
  EXPECT_TRUE(Turn([&] {
    if (answered) Look();  // it was not stopped yet
    return !store->Stats().trouble.empty();
  }));
  etcd->Signal(SIGCONT);
  EXPECT_TRUE(Turn([&] { return answered; }));
}

}  // namespace
}  // namespace gearstalk
