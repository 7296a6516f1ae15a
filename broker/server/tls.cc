#include "broker/server/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

namespace gearstalk {
namespace {

// The innermost reason that OpenSSL knows for what just failed.
std::string Reason() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  const char* text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "unknown error" : text;
}

Status Bad(std::string_view option, const std::string& file, std::string_view why) {
  return {Code::kInvalid, fmt::format("{} '{}': {}", option, file, why)};
}

// OpenSSL's messages say little about missing files.
Status Readable(std::string_view option, const std::string& file) {
  std::FILE* opened = std::fopen(file.c_str(), "re");
  if (opened == nullptr) return Bad(option, file, std::strerror(errno));
  std::fclose(opened);
  return {};
}

Status UseCertificate(SSL_CTX* context, const std::string& file) {
  if (Status status = Readable("tls.certificate", file); !status.ok()) return status;
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) == 1) return {};
  return Bad("tls.certificate", file, Reason());
}

Status UseKey(SSL_CTX* context, const std::string& file) {
  if (Status status = Readable("tls.key", file); !status.ok()) return status;
  // A key with a passphrase would ask for it on the terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) == 1) return {};
  return Bad("tls.key", file, Reason());
}

Status AskClients(SSL_CTX* context, const TlsFiles& files) {
  using Certificates = TlsFiles::ClientCertificates;
  if (files.client_certificates == Certificates::kOff) return {};
  if (files.client_ca.empty()) {
    const bool required = files.client_certificates == Certificates::kRequired;
    return Bad("tls.client_certificates", required ? "required" : "optional",
               "needs tls.client_ca");
  }
  if (Status status = Readable("tls.client_ca", files.client_ca); !status.ok()) return status;
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr ||
      SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
    return Bad("tls.client_ca", files.client_ca, Reason());
  }
  SSL_CTX_set_client_CA_list(context, names);
  const bool required = files.client_certificates == Certificates::kRequired;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  return {};
}

void Harden(SSL_CTX* context) {
  // TLS 1.2 with forward secrecy and authenticated encryption only; all of TLS 1.3 has both.
  SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  // An idle connection keeps no buffers.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

// In seconds since 1970; 0 for a time that OpenSSL cannot read.
std::uint64_t SecondsOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return static_cast<std::uint64_t>(std::max<std::time_t>(timegm(&parts), 1));
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsFiles& files) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return Status(Code::kInvalid, "TLS: " + Reason());
  std::shared_ptr<TlsContext> owned(new TlsContext(context));
  Harden(context);
  if (Status status = UseCertificate(context, files.certificate); !status.ok()) return status;
  const std::string& key = files.key.empty() ? files.certificate : files.key;
  if (Status status = UseKey(context, key); !status.ok()) return status;
  if (SSL_CTX_check_private_key(context) != 1) {
    return Bad("tls.key", key, Reason());
  }
  if (Status status = AskClients(context, files); !status.ok()) return status;
  if (const X509* certificate = SSL_CTX_get0_certificate(context); certificate != nullptr) {
    owned->begins_ = SecondsOf(X509_get0_notBefore(certificate));
    owned->expires_ = SecondsOf(X509_get0_notAfter(certificate));
  }
  return std::shared_ptr<const TlsContext>(std::move(owned));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

}  // namespace gearstalk
