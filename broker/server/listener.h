#pragma once

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/descriptor.h"
#include "broker/base/status.h"
#include "broker/server/tls.h"

namespace gearstalk {

// Where to listen: "127.0.0.1:11300", "[::1]:4730", "localhost:0", "unix:/run/gearstalkd.sock",
// "unix:@NAME" (abstract), each optionally followed by options,
// ",protocols=auto|beanstalk|gearman",
// ",tls=allowed|required|off", and for Unix sockets ",owner=USER", ",group=GROUP", ",mode=0660".
struct ListenAddress {
  std::string text;  // as it was written, without the options
  std::string host;  // empty for a Unix socket
  std::string port;
  std::string path;       // of a Unix socket
  std::string protocols;  // "auto" or the name of one
  TlsUse tls = TlsUse::kAllowed;
  bool not_here_yet = false;  // bind even if the host does not have the address yet
  std::size_t sockets = 1;    // among which the kernel divides the clients of a TCP port
  std::string owner, group;   // of a Unix socket; empty: the default of the system
  std::optional<unsigned> permissions;

  // `what` is what errors call it.
  static Result<ListenAddress> Parse(std::string_view text,
                                     std::string_view what = "listen address");
};

// Resolves a host to addresses, as ADDR:PORT. Errors name the host and the port.
Result<std::vector<std::string>> ResolveHost(const std::string& host, const std::string& port);

class ListenSocket;
using ListenSockets = std::vector<std::unique_ptr<ListenSocket>>;

// A socket to listen on, non-blocking; closed (and its Unix socket file removed) with its owner.
class ListenSocket {
 public:
  // Binds each address of a host name. Errors name the address; kNotFound: the machine does not
  // have it.
  static Result<ListenSockets> OpenAll(const ListenAddress& address);
  // Adopts a stream socket that another process has bound; `address` says how it is served.
  static Result<std::unique_ptr<ListenSocket>> Adopt(int fd, ListenAddress address);
  ~ListenSocket();
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;

  // The address that a socket is bound to: ADDR:PORT, or unix:/PATH.
  static std::string NameOf(int fd);

  // Clients can connect from now on. May be called again after Stop.
  Status Start();
  // The kernel refuses clients from now on. False: not possible for a Unix socket, which could not
  // listen again.
  bool Stop();

  int fd() const { return fds_.front(); }
  // Each of ListenAddress::sockets processes has its own, if there are so many.
  int fd_of(std::size_t process) const { return fds_[process % fds_.size()]; }
  // Whether a client waits to be accepted. An accept without a client costs eight times as much:
  // the kernel makes the new socket and its descriptor before it looks.
  bool SomebodyWaits() const;
  const ListenAddress& address() const { return address_; }
  // The address with the port that the system chose for port 0.
  const std::string& name() const { return name_; }

 private:
  ListenSocket(std::vector<Descriptor> fds, ListenAddress address)
      : fds_(std::move(fds)), address_(std::move(address)) {}

  std::vector<Descriptor> fds_;  // of one address
  ListenAddress address_;
  std::string name_;
  sockaddr_storage bound_{};  // set by Stop: what to listen on again
  bool owns_file_ = false;    // of a Unix socket
};

}  // namespace gearstalk
