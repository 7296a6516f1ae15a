#include "broker/server/listener.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "tests/support/listening.h"

namespace gearstalk {
namespace {

ListenAddress Parsed(std::string_view text) {
  const Result<ListenAddress> address = ListenAddress::Parse(text);
  EXPECT_TRUE(address.ok()) << text;
  return address.ok() ? address.value() : ListenAddress();
}

std::string Refusal(std::string_view text) {
  const Result<ListenAddress> address = ListenAddress::Parse(text);
  return address.ok() ? "taken" : address.status().message();
}

TEST(ListenAddress, HostAndPort) {
  const ListenAddress address = Parsed("127.0.0.1:11300");
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, "11300");
  EXPECT_EQ(address.path, "");
  EXPECT_EQ(address.protocols, "auto");
}

TEST(ListenAddress, Names) {
  EXPECT_EQ(Parsed("localhost:0").host, "localhost");
  EXPECT_EQ(Parsed("queue.example.org:65535").port, "65535");
}

TEST(ListenAddress, Ipv6StandsInBrackets) {
  const ListenAddress address = Parsed("[::1]:4730");
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, "4730");
  EXPECT_EQ(Parsed("[::]:0").host, "::");
}

TEST(ListenAddress, UnixPath) {
  const ListenAddress address = Parsed("unix:/run/gearstalkd.sock");
  EXPECT_EQ(address.path, "/run/gearstalkd.sock");
  EXPECT_EQ(address.host, "");
  EXPECT_EQ(Parsed("unix:/a:b").path, "/a:b");
}

TEST(ListenAddress, Protocols) {
  for (const std::string protocols : {"auto", "beanstalk", "gearman"}) {
    EXPECT_EQ(Parsed("127.0.0.1:1,protocols=" + protocols).protocols, protocols);
    EXPECT_EQ(Parsed("unix:/x,protocols=" + protocols).protocols, protocols);
    EXPECT_EQ(Parsed("unix:/x,protocols=" + protocols).path, "/x");
  }
}

TEST(ListenAddress, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected HOST:PORT or unix:/PATH"},
      {"11300", "expected HOST:PORT or unix:/PATH"},
      {":11300", "a host is missing before the colon"},
      {"[]:11300", "a host is missing before the colon"},
      {"localhost:", "the port is a number from 0 to 65535"},
      {"localhost:65536", "the port is a number from 0 to 65535"},
      {"localhost:000001", "the port is a number from 0 to 65535"},
      {"localhost:-1", "the port is a number from 0 to 65535"},
      {"localhost:http", "the port is a number from 0 to 65535"},
      {"localhost: 1", "the port is a number from 0 to 65535"},
      {"unix:", "a path must follow 'unix:'"},
      {"unix:/" + std::string(107, 'x'), "the path is too long"},
      {"localhost:1,", "what follows a comma is protocols=, tls=, owner=, group= or mode="},
      {"localhost:1,ssl=on", "what follows a comma is protocols=, tls=, owner=, group= or mode="},
      {"localhost:1,tls=on", "tls is one of allowed, required, off"},
      {"localhost:1,mode=0660", "owner, group and mode are for Unix sockets"},
      {"unix:/s,mode=0999", "mode is an octal number up to 0777"},
      {"unix:/s,mode=1777", "mode is an octal number up to 0777"},
      {"unix:/s,owner=", "owner, group or mode is empty"},
      {"localhost:1,protocols=", "protocols is one of auto, beanstalk, gearman"},
      {"localhost:1,protocols=http", "protocols is one of auto, beanstalk, gearman"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_EQ(Refusal(text), "listen address '" + text + "': " + why);
  }
}

TEST(ListenAddress, Options) {
  const ListenAddress tcp = Parsed("127.0.0.1:1,tls=required,protocols=gearman");
  EXPECT_EQ(tcp.text, "127.0.0.1:1");
  EXPECT_EQ(tcp.tls, TlsUse::kRequired);
  EXPECT_EQ(tcp.protocols, "gearman");
  EXPECT_EQ(Parsed("127.0.0.1:1").tls, TlsUse::kAllowed);
  EXPECT_EQ(Parsed("127.0.0.1:1,tls=off").tls, TlsUse::kOff);
  const ListenAddress local = Parsed("unix:/s,mode=0660,owner=root,group=daemon,tls=off");
  EXPECT_EQ(local.text, "unix:/s");
  EXPECT_EQ(local.path, "/s");
  EXPECT_EQ(local.permissions, 0660U);
  EXPECT_EQ(local.owner, "root");
  EXPECT_EQ(local.group, "daemon");
  EXPECT_FALSE(Parsed("unix:/s").permissions.has_value());
}

TEST(ListenAddress, LongestPath) {
  EXPECT_EQ(Parsed("unix:/" + std::string(106, 'x')).path.size(), 107U);
}

class UnixListener : public ::testing::Test {
 protected:
  ~UnixListener() override { unlink(path_.c_str()); }

  Result<std::unique_ptr<ListenSocket>> Open() { return OpenOne(Parsed("unix:" + path_)); }
  bool Exists() const { return access(path_.c_str(), F_OK) == 0; }

  const std::string path_ = ::testing::TempDir() + "gs-listener-" + std::to_string(getpid());
};

TEST_F(UnixListener, RemovesItsSocketAtTheEnd) {
  {
    const auto socket = Open();
    ASSERT_TRUE(socket.ok());
    EXPECT_EQ(socket.value()->name(), "unix:" + path_);
    EXPECT_TRUE(Exists());
  }
  EXPECT_FALSE(Exists());
}

TEST_F(UnixListener, ReplacesASocketThatWasLeftBehind) {
  const std::string moved = path_ + ".old";
  {
    const auto first = Open();
    ASSERT_TRUE(first.ok());
    ASSERT_EQ(rename(path_.c_str(), moved.c_str()), 0);
  }
  ASSERT_EQ(rename(moved.c_str(), path_.c_str()), 0);
  EXPECT_TRUE(Open().ok());
}

TEST_F(UnixListener, LeavesTheSocketOfAnotherBrokerAlone) {
  const auto first = Open();
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first.value()->Start().ok());
  const auto second = Open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            "cannot listen on unix:" + path_ + ": bind: Address already in use");
  EXPECT_TRUE(Exists());
}

TEST_F(UnixListener, LeavesOtherFilesAlone) {
  std::ofstream(path_) << "precious";
  const auto socket = Open();
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.status().code(), Code::kIo);
  EXPECT_EQ(socket.status().message(),
            "cannot listen on unix:" + path_ + ": bind: Address already in use");
  EXPECT_TRUE(Exists());
}

TEST_F(UnixListener, HasTheModeItIsGiven) {
  for (const char* mode : {"0600", "0666", "0750"}) {
    const auto socket = OpenOne(Parsed("unix:" + path_ + ",mode=" + mode));
    ASSERT_TRUE(socket.ok());
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, std::stoul(mode, nullptr, 8));
  }
}

TEST_F(UnixListener, HasTheOwnerItIsGiven) {
  const passwd* me = getpwuid(geteuid());
  const group* mine = getgrgid(getegid());
  if (me == nullptr || mine == nullptr) GTEST_SKIP() << "a user without a name";
  const std::string owner = me->pw_name, group_name = mine->gr_name;
  EXPECT_TRUE(OpenOne(Parsed("unix:" + path_ + ",owner=" + owner + ",group=" + group_name)).ok());
  if (geteuid() != 0) return;
  const auto socket = OpenOne(Parsed("unix:" + path_ + ",owner=daemon,group=daemon"));
  ASSERT_TRUE(socket.ok());
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, getpwnam("daemon")->pw_uid);
  EXPECT_EQ(status.st_gid, getgrnam("daemon")->gr_gid);
}

TEST_F(UnixListener, NamesUsersThatAreNot) {
  const auto socket = OpenOne(Parsed("unix:" + path_ + ",owner=nobody-of-this-name"));
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.status().message(),
            "listen address 'unix:" + path_ + "': no such user: nobody-of-this-name");
  EXPECT_FALSE(Exists());
}

// Connects, and stays connected as long as the result lives.
struct Client {
  explicit Client(const ListenSocket& to) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(to.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    fd = socket(address.ss_family, SOCK_STREAM, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  ~Client() { close(fd); }
  int fd;
};

void KnowsWhetherSomebodyWaits(ListenSocket& socket) {
  ASSERT_TRUE(socket.Start().ok());
  EXPECT_FALSE(socket.SomebodyWaits());
  const Client first(socket), second(socket);
  for (int i = 0; i < 2; ++i) {
    // The end of a handshake may come a little later.
    pollfd somebody{.fd = socket.fd(), .events = POLLIN, .revents = 0};
    poll(&somebody, 1, 60'000);
    EXPECT_TRUE(socket.SomebodyWaits());
    close(accept(socket.fd(), nullptr, nullptr));
  }
  EXPECT_FALSE(socket.SomebodyWaits());
}

TEST_F(UnixListener, KnowsWhetherSomebodyWaits) {
  const auto socket = Open();
  ASSERT_TRUE(socket.ok());
  KnowsWhetherSomebodyWaits(*socket.value());
}

TEST(TcpListener, KnowsWhetherSomebodyWaits) {
  const auto socket = OpenOne(Parsed("127.0.0.1:0"));
  ASSERT_TRUE(socket.ok());
  KnowsWhetherSomebodyWaits(*socket.value());
}

TEST(TcpListener, ListensOnEachAddressOfAName) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  ASSERT_EQ(getaddrinfo("localhost", nullptr, &hints, &found), 0);
  std::set<std::string> hosts;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    hosts.insert(at->ai_family == AF_INET6 ? "[::1]:" : "127.0.0.1:");
  }
  freeaddrinfo(found);
  const auto sockets = ListenSocket::OpenAll(Parsed("localhost:0"));
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  std::set<std::string> bound;
  for (const auto& socket : sockets.value()) {
    EXPECT_TRUE(socket->Start().ok());
    EXPECT_EQ(socket->address().text, "localhost:0");
    bound.insert(socket->name().substr(0, socket->name().rfind(':') + 1));
  }
  EXPECT_EQ(bound, hosts);
  EXPECT_EQ(sockets.value().size(), hosts.size());
}

TEST(TcpListener, NamesAHostThatIsNot) {
  const auto sockets = ListenSocket::OpenAll(Parsed("no.such.host.invalid:0"));
  ASSERT_FALSE(sockets.ok());
  EXPECT_TRUE(sockets.status().message().starts_with("listen address 'no.such.host.invalid:0': "));
}

TEST(TcpListener, TakesAFreePort) {
  const auto first = OpenOne(Parsed("127.0.0.1:0"));
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first.value()->Start().ok());
  const std::string name = first.value()->name();
  EXPECT_TRUE(name.starts_with("127.0.0.1:")) << name;
  EXPECT_NE(name, "127.0.0.1:0");
  const auto second = OpenOne(Parsed(name));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            "cannot listen on " + name + ": bind: Address already in use");
}

}  // namespace
}  // namespace gearstalk
