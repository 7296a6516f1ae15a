// TLS without sockets: a server's stream against a client of OpenSSL's own.

#include "broker/server/tls.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "broker/server/tls_stream.h"
#include "tests/server/tls_client.h"
#include "tests/server/tls_fixture.h"

namespace gearstalk {
namespace {

std::string ReadAll(TlsStream& stream) {
  std::string text;
  std::array<char, 1000> part;
  while (const std::size_t got = stream.Read(part)) text.append(part.data(), got);
  return text;
}

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<TestCertificates>();
    files_->SelfSigned("server");
    files_->SelfSigned("ca");
    files_->SelfSigned("stranger");
    files_->Signed("worker-1", "ca");
    files_->Write("nonsense.pem", "no certificate\n");
  }
  static void TearDownTestSuite() { files_.reset(); }

  static TlsFiles Files() {
    return {.certificate = files_->Path("server.pem"),
            .key = files_->Path("server.key"),
            .client_ca = files_->Path("ca.pem")};
  }
  static std::shared_ptr<const TlsContext> Context(
      TlsFiles::ClientCertificates certificates = TlsFiles::ClientCertificates::kOff) {
    TlsFiles files = Files();
    files.client_certificates = certificates;
    const auto context = TlsContext::Load(files);
    EXPECT_TRUE(context.ok()) << (context.ok() ? "" : context.status().message());
    return context.value();
  }
  static std::string WhyNot(const TlsFiles& files) {
    const auto context = TlsContext::Load(files);
    return context.ok() ? "loaded" : context.status().message();
  }

  // Carries bytes between the two until nothing moves, `piece` bytes at a time. What the stream
  // reads is returned.
  static std::string Exchange(TlsClient& client, TlsStream& stream, std::size_t piece = 16384) {
    std::string heard;
    for (;;) {
      const std::string bytes = client.Outgoing(piece);
      const std::string answer(stream.pending());
      if (bytes.empty() && answer.empty()) return heard;
      if (!bytes.empty()) {
        stream.Feed(bytes);
        heard += ReadAll(stream);
      }
      client.Take(answer);
      stream.Sent(answer.size());
    }
  }

  static inline std::unique_ptr<TestCertificates> files_;
};

TEST_F(Tls, CarriesBothWays) {
  TlsStream stream(Context());
  TlsClient client;
  EXPECT_EQ(client.Outgoing(0), "");
  Exchange(client, stream);
  EXPECT_TRUE(stream.open());
  EXPECT_TRUE(client.open());
  client.Say("put 0 0 60 2\r\nhi\r\n");
  EXPECT_EQ(Exchange(client, stream), "put 0 0 60 2\r\nhi\r\n");
  EXPECT_EQ(stream.Write("INSERTED 1\r\n"), 12U);
  Exchange(client, stream);
  EXPECT_EQ(client.Hear(), "INSERTED 1\r\n");
}

TEST_F(Tls, BeginsWithTheByteThatTells) {
  TlsClient client;
  EXPECT_EQ(client.Outgoing(1), std::string(1, TlsStream::kFirstByte));
}

TEST_F(Tls, ComesInAnyPieces) {
  for (const std::size_t piece : {1, 2, 7, 100}) {
    TlsStream stream(Context());
    TlsClient client;
    client.Say("too early is nothing");
    EXPECT_EQ(Exchange(client, stream, piece), "");
    const std::string text(3000, 'x');
    client.Say(text);
    EXPECT_EQ(Exchange(client, stream, piece), text) << piece;
  }
}

TEST_F(Tls, CarriesMuch) {
  TlsStream stream(Context());
  TlsClient client;
  Exchange(client, stream);
  const std::string body(1'000'000, 'b');
  client.Say(body);
  EXPECT_EQ(Exchange(client, stream, 32768), body);
  std::string_view rest = body;
  std::string heard;
  while (!rest.empty()) {
    const std::size_t taken = stream.Write(rest);
    EXPECT_LE(taken, TlsStream::kMaxWrite);
    rest.remove_prefix(taken);
    Exchange(client, stream);
    heard += client.Hear();
  }
  EXPECT_EQ(heard, body);
}

TEST_F(Tls, WritesNothingBeforeTheHandshakeIsDone) {
  TlsStream stream(Context());
  EXPECT_EQ(stream.Write("early"), 0U);
  EXPECT_TRUE(stream.pending().empty());
}

TEST_F(Tls, TakesVersion12AndNothingOlder) {
  TlsStream stream(Context());
  TlsClient client(TLS1_2_VERSION);
  Exchange(client, stream);
  EXPECT_TRUE(stream.open());
  TlsStream other(Context());
  TlsClient old(TLS1_1_VERSION);
  Exchange(old, other);
  EXPECT_TRUE(other.failed());
  EXPECT_EQ(other.error(), "unsupported protocol");
}

TEST_F(Tls, FailsOnNonsense) {
  TlsStream stream(Context());
  stream.Feed("\x16 this is no hello of anybody");
  EXPECT_TRUE(stream.failed());
  EXPECT_NE(stream.error(), "");
  EXPECT_EQ(ReadAll(stream), "");
  EXPECT_EQ(stream.Write("x"), 0U);
}

TEST_F(Tls, SaysItsEndAndHearsThePeers) {
  TlsStream stream(Context());
  TlsClient client;
  Exchange(client, stream);
  client.Say("quit\r\n");
  client.Close();
  EXPECT_EQ(Exchange(client, stream), "quit\r\n");
  EXPECT_TRUE(stream.ended());
  stream.Close();
  stream.Close();
  Exchange(client, stream);
  client.Hear();
  EXPECT_TRUE(client.told_the_end());
}

TEST_F(Tls, TakesNewKeysNowAndThen) {
  TlsStream stream(Context());
  TlsClient client;
  Exchange(client, stream);
  for (int i = 0; i < TlsStream::kMaxRekeys; ++i) client.Rekey();
  client.Say("a");
  EXPECT_EQ(Exchange(client, stream), "a");
  for (int i = 0; i <= TlsStream::kMaxRekeys; ++i) client.Rekey();
  EXPECT_EQ(Exchange(client, stream), "");
  EXPECT_TRUE(stream.failed());
  EXPECT_EQ(stream.error(), "too many requests for a new key");
}

// --- Client certificates -------------------------------------------------------------------------

TEST_F(Tls, ClientsMayHaveNames) {
  TlsStream stream(Context(TlsFiles::ClientCertificates::kOptional));
  TlsClient client(TLS1_3_VERSION, files_->Path("worker-1.pem"), files_->Path("worker-1.key"));
  Exchange(client, stream);
  EXPECT_TRUE(stream.open());
  EXPECT_EQ(stream.ClientName(), "worker-1");
}

TEST_F(Tls, ClientsMayHaveNone) {
  TlsStream stream(Context(TlsFiles::ClientCertificates::kOptional));
  TlsClient client;
  Exchange(client, stream);
  EXPECT_TRUE(stream.open());
  EXPECT_EQ(stream.ClientName(), "");
}

TEST_F(Tls, ClientsMustHaveNamesWhereTheyAreRequired) {
  TlsStream stream(Context(TlsFiles::ClientCertificates::kRequired));
  TlsClient client;
  Exchange(client, stream);
  EXPECT_TRUE(stream.failed());
  EXPECT_EQ(stream.error(), "peer did not return a certificate");
}

TEST_F(Tls, CertificatesOfOthersAreNotTaken) {
  for (const auto certificates :
       {TlsFiles::ClientCertificates::kOptional, TlsFiles::ClientCertificates::kRequired}) {
    TlsStream stream(Context(certificates));
    TlsClient client(TLS1_3_VERSION, files_->Path("stranger.pem"), files_->Path("stranger.key"));
    Exchange(client, stream);
    EXPECT_TRUE(stream.failed());
    EXPECT_EQ(stream.error(), "certificate verify failed");
  }
}

TEST_F(Tls, NamesAreNotAskedForUnlessTold) {
  TlsStream stream(Context());
  TlsClient client(TLS1_3_VERSION, files_->Path("worker-1.pem"), files_->Path("worker-1.key"));
  Exchange(client, stream);
  EXPECT_TRUE(stream.open());
  EXPECT_EQ(stream.ClientName(), "");
}

// --- Files ---------------------------------------------------------------------------------------

TEST_F(Tls, KnowsWhenTheCertificateEnds) {
  const std::int64_t in_two_days = static_cast<std::int64_t>(::time(nullptr)) + 2 * 86400;
  const auto context = Context();
  const auto& certificates = context->certificates();
  ASSERT_EQ(certificates.size(), 1u);
  EXPECT_EQ(certificates[0].option, "tls.certificate");
  EXPECT_EQ(certificates[0].subject, "CN=server");
  EXPECT_NE(certificates[0].serial, "");
  EXPECT_NEAR(static_cast<double>(certificates[0].ends), static_cast<double>(in_two_days), 3600);
}

TEST_F(Tls, KnowsTheCertificatesOfClientAuthoritiesOnce) {
  std::string both;
  for (int i = 0; i < 2; ++i) {
    std::ifstream in(files_->Path("ca.pem"));
    both.append(std::istreambuf_iterator<char>(in), {});
  }
  files_->Write("twice.pem", both);
  const auto context =
      TlsContext::Load({.certificate = files_->Path("server.pem"),
                        .key = files_->Path("server.key"),
                        .client_ca = files_->Path("twice.pem"),
                        .client_certificates = TlsFiles::ClientCertificates::kOptional});
  ASSERT_TRUE(context.ok());
  const auto& certificates = context.value()->certificates();
  ASSERT_EQ(certificates.size(), 2u);
  EXPECT_EQ(certificates[1].option, "tls.client_ca");
}

TEST_F(Tls, TheKeyMayStandInTheCertificatesFile) {
  std::string both;
  for (const char* file : {"server.pem", "server.key"}) {
    std::ifstream in(files_->Path(file));
    both.append(std::istreambuf_iterator<char>(in), {});
  }
  files_->Write("both.pem", both);
  EXPECT_EQ(WhyNot({.certificate = files_->Path("both.pem"), .key = {}, .client_ca = {}}),
            "loaded");
}

TEST_F(Tls, NamesTheFileAndTheReason) {
  TlsFiles files = Files();
  files.certificate = "/nowhere/server.pem";
  EXPECT_EQ(WhyNot(files), "tls.certificate '/nowhere/server.pem': No such file or directory");
  files = Files();
  files.certificate = files_->Path("nonsense.pem");
  EXPECT_EQ(WhyNot(files), "tls.certificate '" + files.certificate + "': no start line");
  files = Files();
  files.key = "/nowhere/server.key";
  EXPECT_EQ(WhyNot(files), "tls.key '/nowhere/server.key': No such file or directory");
  files.key = files_->Path("ca.key");
  EXPECT_EQ(WhyNot(files), "tls.key '" + files.key + "': key values mismatch");
  files = Files();
  files.client_certificates = TlsFiles::ClientCertificates::kRequired;
  files.client_ca = files_->Path("nonsense.pem");
  EXPECT_NE(WhyNot(files).find("tls.client_ca '" + files.client_ca + "': "), std::string::npos);
  files.client_ca.clear();
  EXPECT_EQ(WhyNot(files), "tls.client_certificates 'required': needs tls.client_ca");
}

}  // namespace
}  // namespace gearstalk
