#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk {

// The other end of a connection; never blocks.
class Client {
 public:
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // Over TCP, on the loopback interface.
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Client() { Close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  bool ended() const { return ended_; }
  // The other side has closed with something unread.
  bool reset() const { return reset_; }

  // Returns how much the socket took.
  std::size_t Send(std::string_view bytes) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void HalfClose() { shutdown(fd_, SHUT_WR); }
  // Over TCP: the other side is told of an error.
  void Reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    Close();
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  // Reads what is there, `most` bytes at most.
  std::string Read(std::size_t most = SIZE_MAX) {
    std::string all;
    std::vector<char> buffer(65536);
    while (all.size() < most) {
      const ssize_t got = recv(fd_, buffer.data(), std::min(buffer.size(), most - all.size()), 0);
      ended_ = ended_ || got == 0;
      reset_ = reset_ || (got < 0 && errno == ECONNRESET);
      if (got <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  bool reset_ = false;
};

}  // namespace gearstalk
