#include "broker/server/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

constexpr int kBacklog = 4096;

Status Bad(std::string_view text, std::string_view why) {
  return {Code::kInvalid, fmt::format("listen address '{}': {}", text, why)};
}

Status Failed(std::string_view name, std::string_view call) {
  const bool missing = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
  return {missing ? Code::kNotFound : Code::kIo,
          fmt::format("cannot listen on {}: {}: {}", name, call, std::strerror(errno))};
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

// Reads one option behind the address; returns what is wrong with it, or an empty text.
std::string_view ParseOption(std::string_view option, ListenAddress& address) {
  const auto [key, value] = SplitOnce(option, '=');
  if (key == "protocols") {
    address.protocols = value;
    if (value == "auto" || value == "beanstalk" || value == "gearman") return {};
    return "protocols is one of auto, beanstalk, gearman";
  }
  if (key == "tls") {
    if (value == "required") address.tls = TlsUse::kRequired;
    if (value == "off") address.tls = TlsUse::kOff;
    if (value == "allowed" || value == "required" || value == "off") return {};
    return "tls is one of allowed, required, off";
  }
  if (key != "owner" && key != "group" && key != "mode") {
    return "what follows a comma is protocols=, tls=, owner=, group= or mode=";
  }
  if (address.path.empty()) return "owner, group and mode are for Unix sockets";
  if (value.empty()) return "owner, group or mode is empty";
  if (key == "owner") address.owner = value;
  if (key == "group") address.group = value;
  if (key != "mode") return {};
  unsigned mode = 0;
  const bool good = ParseNumber(value, mode, 8) && mode <= 0777;
  address.permissions = mode;
  return good ? std::string_view() : "mode is an octal number up to 0777";
}

// Whether the file is a socket on which no process listens.
bool LeftBehind(const sockaddr_un& address) {
  struct stat status {};
  if (lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

// A name in the abstract namespace of unix(7), which is not a file.
bool IsAbstract(const std::string& path) { return path.starts_with('@'); }

Result<Descriptor> OpenUnix(const std::string& path) {
  const std::string name = "unix:" + path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  socklen_t size = sizeof address;
  if (IsAbstract(path)) {
    address.sun_path[0] = '\0';
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  } else if (LeftBehind(address)) {
    unlink(path.c_str());
  }
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) return Failed(name, "socket");
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) return Failed(name, "bind");
  return fd;
}

// Called before listen(), so that nobody connects with the wrong permissions.
Status SetPermissions(const ListenAddress& address) {
  uid_t owner = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
  if (!address.owner.empty()) {
    const passwd* user = getpwnam(address.owner.c_str());
    if (user == nullptr) return Bad(address.text, "no such user: " + address.owner);
    owner = user->pw_uid;
  }
  if (!address.group.empty()) {
    const ::group* found = getgrnam(address.group.c_str());
    if (found == nullptr) return Bad(address.text, "no such group: " + address.group);
    group = found->gr_gid;
  }
  const char* path = address.path.c_str();
  const bool owned = address.owner.empty() && address.group.empty();
  if (!owned && lchown(path, owner, group) != 0) return Failed(address.text, "chown");
  if (address.permissions && chmod(path, *address.permissions) != 0) {
    return Failed(address.text, "chmod");
  }
  return {};
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// A name may have several addresses, of the families that the machine has.
Result<Addresses> Resolve(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto look = [&](int how) {
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | how;
    return getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  };
  int error = look(AI_NUMERICHOST);
  if (error == EAI_NONAME) error = look(AI_ADDRCONFIG);
  if (error == 0) return Addresses(found, freeaddrinfo);
  return Bad(address.host + ":" + address.port, gai_strerror(error));
}

// Whether the list does not have the address before; lines of /etc/hosts may repeat it.
bool IsNew(const addrinfo& address, const addrinfo* list) {
  for (; list != &address; list = list->ai_next) {
    if (list->ai_addrlen == address.ai_addrlen &&
        std::memcmp(list->ai_addr, address.ai_addr, address.ai_addrlen) == 0) {
      return false;
    }
  }
  return true;
}

Result<Descriptor> OpenTcp(const ListenAddress& address, const addrinfo& at, bool shared) {
  const std::string name = address.host + ":" + address.port;
  Descriptor fd(socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) return Failed(name, "socket");
  Set(fd, SOL_SOCKET, SO_REUSEADDR);
  if (shared) Set(fd, SOL_SOCKET, SO_REUSEPORT);
  SetTcpOptions(fd);
  if (at.ai_family == AF_INET6) Set(fd, IPPROTO_IPV6, IPV6_V6ONLY);
  if (address.not_here_yet) Set(fd, IPPROTO_IP, IP_FREEBIND);
  if (bind(fd, at.ai_addr, at.ai_addrlen) != 0) return Failed(name, "bind");
  return fd;
}

// With SO_REUSEPORT the kernel would also let a second broker of this user have the port: a socket
// without it asks first whether the port is free. A port that the kernel chooses has one socket.
Result<std::vector<Descriptor>> OpenAllTcp(const ListenAddress& address, const addrinfo& at) {
  std::vector<Descriptor> fds;
  fds.emplace_back() = GS_TRY(OpenTcp(address, at, false));
  std::uint16_t port = 0;
  const bool chosen = ParsePort(address.port, port) && port == 0;
  if (address.sockets == 1 || chosen) return fds;
  fds.clear();
  while (fds.size() < address.sockets) fds.emplace_back() = GS_TRY(OpenTcp(address, at, true));
  return fds;
}

std::string NameOfAddress(const sockaddr_storage& address, socklen_t size) {
  if (address.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(address);
    const std::size_t length = size - offsetof(sockaddr_un, sun_path);
    const bool is_abstract = length > 1 && local.sun_path[0] == '\0';
    return is_abstract ? fmt::format("unix:@{}", std::string_view(local.sun_path + 1, length - 1))
                       : fmt::format("unix:{}", std::string_view(local.sun_path,
                                                                 strnlen(local.sun_path, length)));
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
              port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  const bool v6 = address.ss_family == AF_INET6;
  return v6 ? fmt::format("[{}]:{}", host.data(), port.data())
            : fmt::format("{}:{}", host.data(), port.data());
}

}  // namespace

Result<ListenAddress> ListenAddress::Parse(std::string_view text, std::string_view what) {
  const auto bad = [&](std::string_view why) {
    return Status(Code::kInvalid, fmt::format("{} '{}': {}", what, text, why));
  };
  ListenAddress address;
  address.protocols = "auto";
  const std::vector<std::string_view> parts = Split(text, ',');
  const std::string_view rest = parts.front();
  address.text = rest;
  if (rest.starts_with("unix:")) address.path = rest.substr(5);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (const auto wrong = ParseOption(parts[i], address); !wrong.empty()) return bad(wrong);
  }
  if (rest.starts_with("unix:")) {
    if (address.path.empty()) return bad("a path must follow 'unix:'");
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) return bad("the path is too long");
    return address;
  }
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad("expected HOST:PORT or unix:/PATH");
  std::string_view host = rest.substr(0, colon);
  address.port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad("a host is missing before the colon");
  std::uint16_t port = 0;
  if (!ParsePort(address.port, port)) return bad("the port is a number from 0 to 65535");
  address.host = host;
  return address;
}

Result<std::vector<std::string>> ResolveHost(const std::string& host, const std::string& port) {
  ListenAddress address;
  address.host = host;
  address.port = port;
  const Addresses found = GS_TRY(Resolve(address));
  std::vector<std::string> names;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, at->ai_addr, at->ai_addrlen);
    names.push_back(NameOfAddress(storage, at->ai_addrlen));
  }
  return names;
}

std::string ListenSocket::NameOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return NameOfAddress(address, size);
}

Result<ListenSockets> ListenSocket::OpenAll(const ListenAddress& address) {
  ListenSockets sockets;
  const auto add = [&](std::vector<Descriptor> fds) {
    sockets.emplace_back(new ListenSocket(std::move(fds), address));
    sockets.back()->name_ = NameOf(sockets.back()->fd());
  };
  if (!address.path.empty()) {
    std::vector<Descriptor> fds;
    fds.emplace_back() = GS_TRY(OpenUnix(address.path));
    add(std::move(fds));
    if (IsAbstract(address.path)) return sockets;
    sockets.back()->owns_file_ = true;
    GS_TRY(SetPermissions(address));
    return sockets;
  }
  const Addresses found = GS_TRY(Resolve(address));
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    if (!IsNew(*at, found.get())) continue;
    std::vector<Descriptor> fds = GS_TRY(OpenAllTcp(address, *at));
    add(std::move(fds));
  }
  return sockets;
}

Result<std::unique_ptr<ListenSocket>> ListenSocket::Adopt(int fd, ListenAddress address) {
  std::vector<Descriptor> fds;
  fds.emplace_back(fd);
  std::unique_ptr<ListenSocket> socket(new ListenSocket(std::move(fds), std::move(address)));
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return Status(Code::kInvalid, fmt::format("descriptor {} is not a stream socket", fd));
  }
  sockaddr_storage peer{};
  size = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return Status(Code::kInvalid,
                  fmt::format("descriptor {} is a connection, not a socket to listen on: a socket "
                              "unit needs Accept=no",
                              fd));
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  socket->name_ = NameOf(fd);
  if (socket->name_ == "unix:") {
    return Status(
        Code::kInvalid,
        fmt::format("descriptor {} is a socket without an address: nobody can connect to it", fd));
  }
  if (socket->address_.text.empty()) socket->address_.text = socket->name_;
  if (!socket->name_.starts_with("unix:")) SetTcpOptions(fd);
  return socket;
}

bool ListenSocket::SomebodyWaits() const {
  pollfd look{.fd = fd(), .events = POLLIN, .revents = 0};
  return poll(&look, 1, 0) > 0;
}

Status ListenSocket::Start() {
  for (const int fd : fds_) {
    if (bound_.ss_family != AF_UNSPEC) {
      // A port that the kernel had chosen was released and is bound again; for other ports this
      // fails and changes nothing.
      std::ignore = bind(fd, reinterpret_cast<const sockaddr*>(&bound_), sizeof bound_);
    }
    if (listen(fd, kBacklog) != 0) return Failed(name_, "listen");
  }
  return {};
}

bool ListenSocket::Stop() {
  if (name_.starts_with("unix:")) return false;
  socklen_t size = sizeof bound_;
  getsockname(fd(), reinterpret_cast<sockaddr*>(&bound_), &size);
  return std::all_of(fds_.begin(), fds_.end(), [](int fd) { return shutdown(fd, SHUT_RD) == 0; });
}

ListenSocket::~ListenSocket() {
  fds_.clear();
  if (owns_file_) unlink(address_.path.c_str());
}

}  // namespace gearstalk
