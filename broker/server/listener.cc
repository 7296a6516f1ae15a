#include "broker/server/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gearstalk {
namespace {

constexpr int kBacklog = 4096;

Status Bad(std::string_view text, std::string_view why) {
  return {Code::kInvalid, fmt::format("listen address '{}': {}", text, why)};
}

Status Failed(std::string_view name, std::string_view call) {
  return {Code::kIo, fmt::format("cannot listen on {}: {}: {}", name, call, std::strerror(errno))};
}

void Set(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);
}

// Accepted sockets inherit these.
void SetTcpOptions(int fd) {
  Set(fd, SOL_SOCKET, SO_KEEPALIVE);
  Set(fd, IPPROTO_TCP, TCP_NODELAY);
}

}  // namespace

Result<ListenAddress> ListenAddress::Parse(std::string_view text) {
  ListenAddress address;
  address.protocols = "auto";
  std::string_view rest = text;
  if (const auto comma = rest.find(','); comma != std::string_view::npos) {
    const std::string_view option = rest.substr(comma + 1);
    rest = rest.substr(0, comma);
    constexpr std::string_view kKey = "protocols=";
    if (!option.starts_with(kKey)) return Bad(text, "only 'protocols=' may follow the comma");
    address.protocols = option.substr(kKey.size());
    if (address.protocols != "auto" && address.protocols != "beanstalk" &&
        address.protocols != "gearman") {
      return Bad(text, "protocols is one of auto, beanstalk, gearman");
    }
  }
  if (rest.starts_with("unix:")) {
    address.path = rest.substr(5);
    if (address.path.empty()) return Bad(text, "a path must follow 'unix:'");
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
      return Bad(text, "the path is too long");
    return address;
  }
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos) return Bad(text, "expected HOST:PORT or unix:/PATH");
  std::string_view host = rest.substr(0, colon);
  address.port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return Bad(text, "a host is missing before the colon");
  const bool digits = address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.port.empty() || address.port.size() > 5 || !digits ||
      std::stoi(address.port) > 65535) {
    return Bad(text, "the port is a number from 0 to 65535");
  }
  address.host = host;
  return address;
}

namespace {

Result<int> OpenUnix(const std::string& path) {
  const std::string name = "unix:" + path;
  struct stat status {};
  // A socket that a dead server left behind is replaced, nothing else is.
  if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(name, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  Status failed = Failed(name, "bind");
  close(fd);
  return failed;
}

Result<int> OpenTcp(const ListenAddress& address) {
  const std::string name = address.host + ":" + address.port;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::kInvalid,
                  fmt::format("listen address '{}': {}", name, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(name, "socket");
  Set(fd, SOL_SOCKET, SO_REUSEADDR);
  SetTcpOptions(fd);
  if (found->ai_family == AF_INET6) Set(fd, IPPROTO_IPV6, IPV6_V6ONLY);
  if (bind(fd, found->ai_addr, found->ai_addrlen) == 0) return fd;
  Status failed = Failed(name, "bind");
  close(fd);
  return failed;
}

}  // namespace

std::string ListenSocket::NameOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(), port.data(),
              port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (address.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(address);
    return fmt::format("unix:{}", local.sun_path);
  }
  const bool v6 = address.ss_family == AF_INET6;
  return v6 ? fmt::format("[{}]:{}", host.data(), port.data())
            : fmt::format("{}:{}", host.data(), port.data());
}

Result<std::unique_ptr<ListenSocket>> ListenSocket::Open(const ListenAddress& address) {
  Result<int> fd = address.path.empty() ? OpenTcp(address) : OpenUnix(address.path);
  if (!fd.ok()) return fd.status();
  std::unique_ptr<ListenSocket> socket(new ListenSocket(fd.value(), address));
  socket->name_ = NameOf(fd.value());
  socket->owns_file_ = !address.path.empty();
  return socket;
}

Result<std::unique_ptr<ListenSocket>> ListenSocket::Adopt(int fd, ListenAddress address) {
  std::unique_ptr<ListenSocket> socket(new ListenSocket(fd, std::move(address)));
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return Status(Code::kInvalid, fmt::format("descriptor {} is no stream socket", fd));
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  socket->name_ = NameOf(fd);
  if (!socket->name_.starts_with("unix:")) SetTcpOptions(fd);
  return socket;
}

Status ListenSocket::Start() {
  return listen(fd_, kBacklog) == 0 ? Status() : Failed(name_, "listen");
}

ListenSocket::~ListenSocket() {
  close(fd_);
  if (owns_file_) unlink(address_.path.c_str());
}

}  // namespace gearstalk
