#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "broker/base/status.h"

struct ssl_ctx_st;

namespace gearstalk {

// The PEM files of a TLS server.
struct TlsFiles {
  enum class ClientCertificates : std::uint8_t { kOff, kOptional, kRequired };

  std::string certificate;  // with its chain
  std::string key;          // empty: in the file of the certificate
  std::string client_ca;    // the CA of accepted client certificates
  ClientCertificates client_certificates = ClientCertificates::kOff;
};

// The TLS settings of connections: TLS 1.2 or later, no renegotiation, no resumption (so that the
// certificate of every connection is verified). A connection keeps the context it began with.
class TlsContext {
 public:
  // Reads the files. Errors name the file and what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The validity of the certificate, in seconds since 1970.
  std::uint64_t begins() const { return begins_; }
  std::uint64_t expires() const { return expires_; }
  ssl_ctx_st* native() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* context_;
  std::uint64_t begins_ = 0;
  std::uint64_t expires_ = 0;
};

}  // namespace gearstalk
