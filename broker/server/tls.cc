#include "broker/server/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

namespace gearstalk {
namespace {

Status Bad(std::string_view option, const std::string& file, std::string_view why) {
  return {Code::kInvalid, fmt::format("{} '{}': {}", option, file, why)};
}

Status ReadFile(std::string_view option, const std::string& file, std::string& text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file.c_str(), "re"),
                                                               std::fclose);
  std::array<char, 4096> part;
  while (opened != nullptr && !std::ferror(opened.get()) && !std::feof(opened.get())) {
    text.append(part.data(), std::fread(part.data(), 1, part.size(), opened.get()));
  }
  if (opened != nullptr && !std::ferror(opened.get())) return {};
  return Bad(option, file, std::strerror(errno));
}

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

Bio Open(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// The server's certificate, then its chain.
Status UseCertificate(SSL_CTX* context, const std::string& file, const std::string& text) {
  const Bio bio = Open(text);
  X509* const certificate = PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr);
  const bool used = certificate != nullptr && SSL_CTX_use_certificate(context, certificate) == 1;
  X509_free(certificate);
  if (!used) return Bad("tls.certificate", file, TlsReason());
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) == 1) continue;
    X509_free(next);
    return Bad("tls.certificate", file, TlsReason());
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!ended) return Bad("tls.certificate", file, TlsReason());
  ERR_clear_error();
  return {};
}

Status UseKey(SSL_CTX* context, const std::string& file, const std::string& text) {
  // A key with a passphrase would ask for it on the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const Bio bio = Open(text);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr);
  const bool used = key != nullptr && SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  return used ? Status() : Bad("tls.key", file, TlsReason());
}

// Certificates and revocation lists; the number of certificates.
int Trust(SSL_CTX* context, const std::string& text) {
  const Bio bio = Open(text);
  STACK_OF(X509_INFO)* const all = PEM_X509_INFO_read_bio(bio.get(), nullptr, nullptr, nullptr);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  int certificates = 0;
  for (int i = 0; i < sk_X509_INFO_num(all); ++i) {
    const X509_INFO* const each = sk_X509_INFO_value(all, i);
    if (each->crl != nullptr) X509_STORE_add_crl(store, each->crl);
    if (each->x509 == nullptr) continue;
    if (X509_STORE_add_cert(store, each->x509) != 1) break;
    if (SSL_CTX_add_client_CA(context, each->x509) != 1) break;
    ++certificates;
  }
  sk_X509_INFO_pop_free(all, X509_INFO_free);
  return certificates;
}

Status AskClients(SSL_CTX* context, const TlsFiles& files, const std::string& text) {
  using Certificates = TlsFiles::ClientCertificates;
  if (files.client_certificates == Certificates::kOff) return {};
  const bool required = files.client_certificates == Certificates::kRequired;
  if (Trust(context, text) == 0) {
    return Bad("tls.client_ca", files.client_ca,
               ERR_peek_error() == 0 ? "no certificate" : TlsReason());
  }
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

std::string SubjectOf(const X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string SerialOf(const X509* certificate) {
  const std::unique_ptr<BIGNUM, void (*)(BIGNUM*)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), BN_free);
  const std::unique_ptr<char, void (*)(char*)> text(
      number == nullptr ? nullptr : BN_bn2hex(number.get()),
      [](char* each) { OPENSSL_free(each); });
  return text == nullptr ? std::string() : std::string(text.get());
}

// Adds what a file has. The files were found good before.
void AddCertificates(std::string_view option, const std::string& text,
                     std::vector<TlsCertificate>& all) {
  const Bio bio = Open(text);
  while (X509* const next = PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr)) {
    TlsCertificate certificate{.option = option,
                               .subject = SubjectOf(next),
                               .serial = SerialOf(next),
                               .begins = SecondsOf(X509_get0_notBefore(next)),
                               .ends = SecondsOf(X509_get0_notAfter(next))};
    X509_free(next);
    if (std::find(all.begin(), all.end(), certificate) == all.end()) {
      all.push_back(std::move(certificate));
    }
  }
  ERR_clear_error();
}

}  // namespace

std::string TlsReason(const char* if_unknown) {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  const char* text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? if_unknown : text;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsFiles& files) {
  using Certificates = TlsFiles::ClientCertificates;
  TlsTexts texts;
  GS_TRY(ReadFile("tls.certificate", files.certificate, texts.certificate));
  if (files.key.empty()) {
    texts.key = texts.certificate;
  } else {
    GS_TRY(ReadFile("tls.key", files.key, texts.key));
  }
  if (files.client_certificates != Certificates::kOff) {
    if (files.client_ca.empty()) {
      const bool required = files.client_certificates == Certificates::kRequired;
      return Bad("tls.client_certificates", required ? "required" : "optional",
                 "needs tls.client_ca");
    }
    GS_TRY(ReadFile("tls.client_ca", files.client_ca, texts.client_ca));
  }
  return Make(files, std::move(texts));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::Make(TlsFiles files, TlsTexts texts) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return Status(Code::kInvalid, "TLS: " + TlsReason());
  std::shared_ptr<TlsContext> owned(new TlsContext(context));
  Harden(context);
  GS_TRY(UseCertificate(context, files.certificate, texts.certificate));
  const std::string& key = files.key.empty() ? files.certificate : files.key;
  GS_TRY(UseKey(context, key, texts.key));
  if (SSL_CTX_check_private_key(context) != 1) return Bad("tls.key", key, TlsReason());
  GS_TRY(AskClients(context, files, texts.client_ca));
  AddCertificates("tls.certificate", texts.certificate, owned->certificates_);
  AddCertificates("tls.client_ca", texts.client_ca, owned->certificates_);
  owned->files_ = std::move(files);
  owned->texts_ = std::move(texts);
  return std::shared_ptr<const TlsContext>(std::move(owned));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

}  // namespace gearstalk
