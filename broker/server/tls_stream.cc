#include "broker/server/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/base/check.h"

namespace gearstalk {
namespace {

// Memory that an idle connection may keep for what it sends next, in bytes.
constexpr std::size_t kKept = 4096;

// Why a stream failed of which OpenSSL knows no reason.
constexpr char kLost[] = "connection lost";

}  // namespace

// A BIO over the stream's own bytes. It takes all that is written, so that OpenSSL never waits to
// write.
struct TlsStream::Pipe {
  static int Read(BIO* bio, char* space, int size) {
    auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (stream.in_.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const std::size_t part = std::min(stream.in_.size(), static_cast<std::size_t>(size));
    std::memcpy(space, stream.in_.data(), part);
    stream.in_.remove_prefix(part);
    return static_cast<int>(part);
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    stream.out_.append(bytes, static_cast<std::size_t>(size));
    return size;
  }

  // Called with each message of TLS.
  static void Note(int sent, int /*version*/, int type, const void* message, std::size_t size,
                   SSL* /*ssl*/, void* of_stream) {
    auto& stream = *static_cast<TlsStream*>(of_stream);
    const bool rekeys = sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
                        *static_cast<const unsigned char*>(message) == SSL3_MT_KEY_UPDATE;
    if (rekeys && ++stream.rekeys_ > kMaxRekeys) stream.in_ = {};  // OpenSSL would read on
  }

  static long Control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }
};

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)), ssl_(SSL_new(context_->native())) {
  BIO* bio = BIO_new(Pipe::Method());
  GS_CHECK(ssl_ != nullptr && bio != nullptr);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
  SSL_set_msg_callback(ssl_, Pipe::Note);
  SSL_set_msg_callback_arg(ssl_, this);
}

std::size_t TlsStream::SizeOfRecord(std::string_view received) {
  constexpr std::size_t kHead = 5;
  constexpr std::size_t kMost = 16 * 1024;
  if (received.size() < kHead) return kHead;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(received[i]); };
  if (byte(1) != 3) return kHead;  // not a version of TLS
  return kHead + std::min<std::size_t>(std::size_t{byte(3)} << 8 | byte(4), kMost);
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

void TlsStream::Feed(std::string_view received) {
  in_ = received;
  rekeys_ = 0;
  if (state_ == State::kHandshake) Shake();
}

void TlsStream::Shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  if (done == 1) {
    state_ = State::kOpen;
  } else if (SSL_get_error(ssl_, done) != SSL_ERROR_WANT_READ) {
    Fail(TlsReason(kLost));
  }
}

void TlsStream::Fail(std::string why) {
  error_ = std::move(why);
  ERR_clear_error();
  state_ = State::kFailed;
  in_ = {};
}

std::size_t TlsStream::Read(std::span<char> space) {
  if (state_ != State::kOpen || ended_ || space.empty()) return 0;
  std::size_t got = 0;
  ERR_clear_error();
  const int read = SSL_read_ex(ssl_, space.data(), space.size(), &got);
  if (read == 1) return got;
  switch (SSL_get_error(ssl_, read)) {
    case SSL_ERROR_WANT_READ:
      if (rekeys_ > kMaxRekeys) Fail("too many requests for a new key");
      break;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      break;
    default:
      Fail(TlsReason(kLost));
  }
  return 0;
}

std::size_t TlsStream::Write(std::string_view bytes) {
  if (state_ != State::kOpen || closed_ || bytes.empty()) return 0;
  bytes = bytes.substr(0, kMaxWrite);
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    std::size_t part = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_, bytes.data() + taken, bytes.size() - taken, &part) != 1) {
      Fail(TlsReason(kLost));
      break;
    }
    taken += part;
  }
  return taken;
}

void TlsStream::Close() {
  if (state_ != State::kOpen || std::exchange(closed_, true)) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

void TlsStream::Sent(std::size_t size) {
  sent_ += size;
  if (sent_ < out_.size()) return;
  sent_ = 0;
  out_.clear();
  if (out_.capacity() > kKept) std::string().swap(out_);
}

std::string TlsStream::ClientName() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr || SSL_get_verify_result(ssl_) != X509_V_OK) return {};
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  // A name with a NUL would end earlier for other programs: it counts as none.
  return name.find('\0') == std::string::npos ? name : std::string();
}

}  // namespace gearstalk
