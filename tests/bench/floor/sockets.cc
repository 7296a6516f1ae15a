// The least that a job server's sockets cost: whatever a connection sent is taken with one receive
// and answered with canned bytes in one send. No job is kept, only how many there are, what the
// last one looked like, and who waits for one.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/bench/load/gearman_packet.h"

namespace gearstalk::bench {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kPacketHeader = 12;

struct Connection {
  int fd = -1;
  std::string unread;  // the beginning of a command
  std::string answers;
};

void Check(bool done, const char* call) {
  if (done) return;
  std::perror(call);
  std::exit(1);
}

std::uint32_t BigEndian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

std::string Response(PacketType type, std::string_view payload) {
  std::string packet("\0RES", 4);
  for (const std::size_t number : {static_cast<std::size_t>(type), payload.size()}) {
    for (int shift = 24; shift >= 0; shift -= 8)
      packet += static_cast<char>(number >> shift & 0xff);
  }
  return packet.append(payload);
}

bool Submits(PacketType type) {
  return type == PacketType::kSubmitJob || type == PacketType::kSubmitJobBg ||
         type == PacketType::kSubmitJobHigh || type >= PacketType::kSubmitJobHighBg;
}

class Sockets {
 public:
  explicit Sockets(std::uint16_t port);
  [[noreturn]] void Run();

 private:
  void Accept();
  void Receive(Connection& connection);
  // How much of it was commands.
  std::size_t Answer(Connection& connection, std::string_view input);
  std::size_t AnswerLine(Connection& connection, std::string_view input);
  std::size_t AnswerPacket(Connection& connection, std::string_view input);
  void Send(Connection& connection);
  void OnJob();

  const int epoll_;
  const int listener_;
  std::string buffer_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::uint64_t ready_ = 0;
  std::string reserved_, assigned_;  // answers with a body like that of the last job
  std::deque<int> waiting_;
};

Sockets::Sockets(std::uint16_t port)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      buffer_(kReadBytes, '\0') {
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Check(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  Check(listen(listener_, 4096) == 0, "listen");
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
}

void Sockets::Run() {
  std::array<epoll_event, 256> events;
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      connection == nullptr ? Accept() : Receive(*connection);
    }
  }
}

void Sockets::Accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  auto& connection = connections_[fd];
  connection = std::make_unique<Connection>();
  connection->fd = fd;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Sockets::Receive(Connection& connection) {
  const ssize_t got = recv(connection.fd, buffer_.data(), buffer_.size(), 0);
  if (got < 0) return;
  if (got == 0) {
    std::erase(waiting_, connection.fd);
    close(connection.fd);
    connections_.erase(connection.fd);
    return;
  }
  const std::string_view fresh(buffer_.data(), static_cast<std::size_t>(got));
  if (connection.unread.empty()) {
    connection.unread.assign(fresh.substr(Answer(connection, fresh)));
  } else {
    connection.unread.append(fresh);
    connection.unread.erase(0, Answer(connection, connection.unread));
  }
  Send(connection);
}

std::size_t Sockets::Answer(Connection& connection, std::string_view input) {
  std::size_t used = 0;
  while (used < input.size()) {
    const std::string_view rest = input.substr(used);
    const std::size_t size =
        rest[0] == '\0' ? AnswerPacket(connection, rest) : AnswerLine(connection, rest);
    if (size == 0) break;
    used += size;
  }
  return used;
}

std::size_t Sockets::AnswerLine(Connection& connection, std::string_view input) {
  const std::size_t end = input.find("\r\n");
  if (end == std::string_view::npos) return 0;
  const std::string_view line = input.substr(0, end);
  if (line.starts_with("put")) {
    std::size_t size = 0;
    std::from_chars(line.data() + line.rfind(' ') + 1, line.data() + end, size);
    if (input.size() < end + size + 4) return 0;
    const std::string_view body = input.substr(end + 2, size + 2);
    reserved_.assign("RESERVED 1 ").append(std::to_string(size)).append("\r\n").append(body);
    connection.answers.append("INSERTED 1\r\n");
    OnJob();
    return end + size + 4;
  }
  if (line.starts_with("reserve")) {
    if (ready_ == 0) {
      waiting_.push_back(connection.fd);
    } else {
      --ready_;
      connection.answers.append(reserved_);
    }
  } else {
    connection.answers.append(line.starts_with("delete") ? "DELETED\r\n"
                              : line.starts_with("use")  ? "USING default\r\n"
                                                         : "WATCHING 1\r\n");
  }
  return end + 2;
}

std::size_t Sockets::AnswerPacket(Connection& connection, std::string_view input) {
  if (input.size() < kPacketHeader) return 0;
  const auto type = static_cast<PacketType>(BigEndian(input.substr(4)));
  const std::size_t size = kPacketHeader + BigEndian(input.substr(8));
  if (input.size() < size) return 0;
  if (type == PacketType::kGrabJob) {
    const bool any = ready_ > 0;
    if (any) --ready_;
    connection.answers.append(any ? assigned_ : Response(PacketType::kNoJob, {}));
  } else if (Submits(type)) {
    // Function, unique key, body; assigned with the handle in front and without the key.
    const std::string handle("H:floor:1");
    const std::string_view payload = input.substr(kPacketHeader, size - kPacketHeader);
    const std::size_t key = payload.find('\0') + 1;
    const std::size_t body = payload.find('\0', key) + 1;
    std::string assigned = handle + '\0';
    assigned.append(payload.substr(0, key)).append(payload.substr(body));
    assigned_ = Response(PacketType::kJobAssign, assigned);
    connection.answers.append(Response(PacketType::kJobCreated, handle));
    OnJob();
  }
  return size;
}

void Sockets::OnJob() {
  ++ready_;
  if (waiting_.empty()) return;
  Connection& connection = *connections_[waiting_.front()];
  waiting_.pop_front();
  --ready_;
  connection.answers.append(reserved_);
  Send(connection);
}

// What the socket does not take leaves with the next answer; the loads have less under way than it
// holds.
void Sockets::Send(Connection& connection) {
  std::string& answers = connection.answers;
  while (!answers.empty()) {
    const ssize_t sent = send(connection.fd, answers.data(), answers.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    answers.erase(0, static_cast<std::size_t>(sent));
  }
}

}  // namespace
}  // namespace gearstalk::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: socket_floor PORT\n", stderr);
    return 2;
  }
  gearstalk::bench::Sockets(static_cast<std::uint16_t>(std::atoi(argv[1]))).Run();
}
