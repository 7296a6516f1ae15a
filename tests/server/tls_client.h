#pragma once

#include <openssl/ssl.h>

#include <array>
#include <string>
#include <string_view>

namespace gearstalk {

// OpenSSL's own client, without a socket.
class TlsClient {
 public:
  explicit TlsClient(int version = TLS1_3_VERSION, const std::string& certificate = {},
                     const std::string& key = {})
      : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_security_level(context_, 0);
    if (!certificate.empty()) {
      SSL_CTX_use_certificate_file(context_, certificate.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM);
    }
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_);
    SSL_do_handshake(ssl_);
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // What it has to send, `most` bytes of it.
  std::string Outgoing(std::size_t most) {
    std::string bytes(most, '\0');
    const int got = BIO_read(SSL_get_wbio(ssl_), bytes.data(), static_cast<int>(most));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  void Take(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    if (!SSL_is_init_finished(ssl_)) SSL_do_handshake(ssl_);
  }
  void Say(std::string_view text) { SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }
  std::string Hear() {
    std::string text;
    std::array<char, 4096> part;
    int got = 0;
    while ((got = SSL_read(ssl_, part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
  // Takes a new key, and asks for a new one of the server.
  void Rekey() {
    SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ssl_);
  }
  void Close() { SSL_shutdown(ssl_); }
  bool open() const { return SSL_is_init_finished(ssl_) == 1; }
  bool told_the_end() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

}  // namespace gearstalk
