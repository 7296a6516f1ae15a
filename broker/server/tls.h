#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/base/tls_files.h"

struct ssl_ctx_st;

namespace gearstalk {

// Whether the clients of a listener speak TLS. kAllowed: if they begin with it, and there is a
// certificate.
enum class TlsUse : std::uint8_t { kAllowed, kRequired, kOff };

// What the files contain.
struct TlsTexts {
  std::string certificate, key, client_ca;
};

// A certificate that one of the files has.
struct TlsCertificate {
  std::string_view option;  // that names the file: tls.certificate or tls.client_ca
  std::string subject, serial;
  std::uint64_t begins = 0, ends = 0;  // seconds since 1970
  bool operator==(const TlsCertificate&) const = default;
};

// The innermost reason that OpenSSL knows for what just failed; it forgets it.
std::string TlsReason(const char* if_unknown = "unknown error");

// The TLS settings of connections: TLS 1.2 or later, no renegotiation, no resumption (so that the
// certificate of every connection is verified). A connection keeps the context it began with.
class TlsContext {
 public:
  // Reads the files. Errors name the file and what is wrong with it.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsFiles& files);
  // The same, of files that were read before.
  static Result<std::shared_ptr<const TlsContext>> Make(TlsFiles files, TlsTexts texts);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The server's own is the first; then its chain, then the CAs of clients. Each is there once.
  const std::vector<TlsCertificate>& certificates() const { return certificates_; }
  ssl_ctx_st* native() const { return context_; }
  // What it was made of.
  const TlsFiles& files() const { return files_; }
  const TlsTexts& texts() const { return texts_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* context_;
  TlsFiles files_;
  TlsTexts texts_;
  std::vector<TlsCertificate> certificates_;
};

}  // namespace gearstalk
