#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "broker/base/status.h"

struct ssl_ctx_st;

namespace gearstalk {

// PEM files that make a server speak TLS.
struct TlsFiles {
  enum class ClientCertificates : std::uint8_t { kOff, kOptional, kRequired };

  std::string certificate;  // with its chain behind it
  std::string key;          // empty: in the certificate's file
  std::string client_ca;    // whose client certificates are taken
  ClientCertificates client_certificates = ClientCertificates::kOff;
};

// What connections need to speak TLS: TLS 1.2 or later, no renegotiation, no resumption (so that
// every connection's certificate is looked at anew). Connections keep the one they began with.
class TlsContext {
 public:
  // Reads the files. Errors name the file and what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // When the certificate begins to be valid and when it ends, in seconds since 1970.
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
