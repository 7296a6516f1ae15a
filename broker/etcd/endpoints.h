#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::etcd {

// Where etcd is and how to speak to it. `endpoints` are HOST:PORT, or https://HOST:PORT all of
// them.
struct EtcdOptions {
  std::vector<std::string> endpoints;
  std::string prefix = "/gearstalkd/0/";
  std::string user;                  // empty: no authentication
  std::string password_file;         // its first line is the password
  std::string ca, certificate, key;  // PEM files; empty: the system's, none, the certificate's file
  bool compact = true;               // the history, after a trim
  Time lease = 2 * kSecond;          // of this broker: how long tries may take
};

// The contents of the files.
struct EtcdSecrets {
  std::string password;
  std::string ca, certificate, key;  // PEM
};

// An endpoint as it is written in the configuration.
struct EndpointName {
  std::string address;  // HOST:PORT
  bool tls = false;

  static Result<EndpointName> Parse(std::string_view text);
};

// kInvalid: an option or a file is bad; the message names it.
Status CheckEndpoints(const EtcdOptions& options);
Result<EtcdSecrets> LoadSecrets(const EtcdOptions& options);

// Beats have a connection of their own, so that they never wait behind a batch.
enum class Lane : std::uint8_t { kData, kBeats };

// The nodes of one cluster, in the order in which they are tried.
class Endpoints {
 public:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<grpc::GenericStub> stub;
  };
  struct Endpoint {
    EndpointName name;
    Connection data, beats;
    int overtaken = 0;  // tries that a later one to another node was faster than, in a row
    std::uint64_t db_bytes = 0;
    bool foreign = false;  // of another cluster: callers skip it
  };

  Endpoints(const EtcdOptions& options, const EtcdSecrets& secrets);

  std::size_t size() const { return all_.size(); }
  Endpoint& at(std::size_t endpoint) { return all_[endpoint]; }
  const Endpoint& at(std::size_t endpoint) const { return all_[endpoint]; }
  grpc::GenericStub& Stub(std::size_t endpoint, Lane lane) { return *Of(endpoint, lane).stub; }
  // Best first.
  const std::vector<std::size_t>& order() const { return order_; }

  // A call was answered there.
  void OnAnswer(std::size_t endpoint) { all_[endpoint].overtaken = 0; }
  // There is no connection: the next call begins another, whatever gRPC's timers say. They wait by
  // the wall clock, and sleep on for as long as it was set back.
  void OnRefused(std::size_t endpoint, Lane lane) {
    grpc::experimental::ChannelResetConnectionBackoff(Of(endpoint, lane).channel.get());
  }
  // A later try was answered elsewhere. The second time in a row the endpoint becomes the last, and
  // is connected anew.
  void OnOvertaken(std::size_t endpoint);
  void PutFirst(std::size_t endpoint);
  void PutLast(std::size_t endpoint);
  // With new secrets.
  void Reconnect(const EtcdSecrets& secrets);

 private:
  Connection& Of(std::size_t endpoint, Lane lane) {
    return lane == Lane::kData ? all_[endpoint].data : all_[endpoint].beats;
  }
  void Connect(Endpoint& endpoint);

  EtcdSecrets secrets_;
  const Time patience_;  // with a connection that is being set up
  std::vector<Endpoint> all_;
  std::vector<std::size_t> order_;
};

}  // namespace gearstalk::etcd
