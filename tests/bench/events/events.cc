// What a round trip costs a server in CPU time when libevent's bufferevents carry it, and when
// plain events over buffers of its own do: `events`. Both answer each message of kMessage bytes
// with as many, as soon as it is there.

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr int kConnections = 16;
constexpr int kTrips = 10'000;  // of each connection
constexpr std::size_t kMessage = 100;
constexpr int kRounds = 5;

void Check(bool good, const char* what) {
  if (good) return;
  perror(what);
  std::exit(1);
}

// The two ends of a connection over loopback TCP.
std::array<int, 2> Connect() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  Check(bind(listener, name, size) == 0 && listen(listener, 1) == 0, "listen");
  Check(getsockname(listener, name, &size) == 0, "getsockname");
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  Check(connect(client, name, size) == 0, "connect");
  const int server = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  Check(server >= 0, "accept");
  const int on = 1;
  for (const int fd : {client, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  close(listener);
  return {client, server};
}

// Each connection has one message under way.
void RunClient(const std::vector<int>& sockets) {
  const std::array<char, kMessage> message{};
  std::array<char, kMessage> answer{};
  std::vector<pollfd> waiting;
  std::vector<int> left(sockets.size(), kTrips);
  for (const int fd : sockets) {
    send(fd, message.data(), message.size(), 0);
    waiting.push_back({fd, POLLIN, 0});
  }
  for (std::size_t open = sockets.size(); open > 0;) {
    poll(waiting.data(), waiting.size(), -1);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      Check(recv(waiting[i].fd, answer.data(), answer.size(), MSG_WAITALL) > 0, "recv");
      if (--left[i] > 0) {
        send(waiting[i].fd, message.data(), message.size(), 0);
        continue;
      }
      close(waiting[i].fd);
      waiting[i].fd = -1;
      --open;
    }
  }
}

void OnReadable(int fd, short /*what*/, void* self) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  if (got > 0) {
    send(fd, bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
  } else {
    event_del(*static_cast<event**>(self));
  }
}

void ServePlain(event_base* base, const std::vector<int>& sockets) {
  std::vector<event*> events(sockets.size());
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    events[i] = event_new(base, sockets[i], EV_READ | EV_PERSIST, OnReadable, &events[i]);
    event_add(events[i], nullptr);
  }
  event_base_dispatch(base);
  for (event* each : events) event_free(each);
}

void ServeBufferevents(event_base* base, const std::vector<int>& sockets) {
  for (const int fd : sockets) {
    bufferevent* stream = bufferevent_socket_new(base, fd, 0);
    bufferevent_setcb(
        stream,
        [](bufferevent* self, void*) {
          evbuffer_add_buffer(bufferevent_get_output(self), bufferevent_get_input(self));
        },
        nullptr, [](bufferevent* self, short, void*) { bufferevent_free(self); }, nullptr);
    bufferevent_enable(stream, EV_READ | EV_WRITE);
  }
  event_base_dispatch(base);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// CPU time of a round trip at the server, in microseconds. The client is a process of its own.
double Measure(void (*serve)(event_base*, const std::vector<int>&)) {
  std::vector<int> clients;
  std::vector<int> servers;
  for (int i = 0; i < kConnections; ++i) {
    const auto [client, server] = Connect();
    clients.push_back(client);
    servers.push_back(server);
  }
  const pid_t child = fork();
  Check(child >= 0, "fork");
  if (child == 0) {
    for (const int fd : servers) close(fd);
    RunClient(clients);
    _exit(0);
  }
  for (const int fd : clients) close(fd);
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  event_base* base = event_base_new();
  serve(base, servers);
  event_base_free(base);
  getrusage(RUSAGE_SELF, &after);
  waitpid(child, nullptr, 0);
  for (const int fd : servers) close(fd);
  const double used = Seconds(after.ru_utime) - Seconds(before.ru_utime) + Seconds(after.ru_stime) -
                      Seconds(before.ru_stime);
  return used / kConnections / kTrips * 1e6;
}

double Median(std::array<double, kRounds> values) {
  std::sort(values.begin(), values.end());
  return values[kRounds / 2];
}

}  // namespace

int main() {
  std::array<double, kRounds> plain{};
  std::array<double, kRounds> buffered{};
  for (std::size_t round = 0; round < kRounds; ++round) {
    plain[round] = Measure(ServePlain);
    buffered[round] = Measure(ServeBufferevents);
  }
  fmt::print(
      "plain events  {:.2f} us a round trip\nbufferevents  {:.2f} us, {:.2f} times as much\n",
      Median(plain), Median(buffered), Median(buffered) / Median(plain));
}
