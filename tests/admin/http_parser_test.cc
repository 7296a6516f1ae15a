#include <gtest/gtest.h>

#include <string>

#include "admin/http/parser.h"

namespace gearstalk {
namespace {

using State = HttpParser::State;

// Reads it in pieces of this size, as a connection does.
HttpParser Parse(std::string_view bytes, std::size_t piece = SIZE_MAX, std::size_t body = 100) {
  HttpParser parser;
  while (!bytes.empty()) {
    const bool in_head = parser.state() == State::kHead;
    const std::size_t used = parser.Take(bytes.substr(0, piece));
    bytes.remove_prefix(used);
    if (in_head && parser.state() == State::kBody) parser.set_max_body(body);
    if (used == 0) break;
  }
  return parser;
}

int StatusOf(std::string_view bytes) {
  const HttpParser parser = Parse(bytes);
  return parser.state() == State::kBad ? parser.status() : 0;
}

TEST(HttpParserTest, ReadsARequestHoweverItComes) {
  const std::string_view bytes =
      "POST /a%2Fb?x=1+2&y=%26 HTTP/1.1\r\nHost: h:1\r\nX-A:  v \r\nContent-Length: 4\r\n\r\nbody";
  for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, SIZE_MAX}) {
    HttpParser parser = Parse(bytes, piece);
    ASSERT_EQ(State::kDone, parser.state()) << piece;
    const HttpRequest& request = parser.request();
    EXPECT_EQ("POST", request.method);
    EXPECT_EQ("/a%2Fb", request.path);
    ASSERT_EQ(2u, request.query.size());
    EXPECT_EQ("1 2", request.query[0].second);
    EXPECT_EQ("&", request.query[1].second);
    EXPECT_EQ("v", *request.Header("x-a"));
    EXPECT_EQ("body", request.body);
    EXPECT_TRUE(request.keep_alive);
  }
}

TEST(HttpParserTest, ReadsChunks) {
  const std::string_view bytes =
      "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3 ;x=y\r\nabc\r\n2\r\n"
      "de\r\n0\r\nT: t\r\n\r\n";
  for (std::size_t piece : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
    HttpParser parser = Parse(bytes, piece);
    ASSERT_EQ(State::kDone, parser.state()) << piece;
    EXPECT_EQ("abcde", parser.request().body);
  }
}

// A proxy may read these otherwise, and then somebody else's request ends where this one says.
TEST(HttpParserTest, RefusesChunksThatCanBeReadInTwoWays) {
  const std::string begin = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(413, StatusOf(begin + "65\r\n"));
  for (const char* chunks : {"x\r\n",
                             "\r\n",
                             "-1\r\n",
                             "+1\r\n",
                             "0x1\r\n",
                             "1\n",
                             "1\na\r\n0\r\n\r\n",
                             "1 1\r\n",
                             "1 \r\n",
                             "1,a=b\r\n",
                             "1xyz\r\n",
                             "1;a\1\r\n",
                             "1;a\rb\r\n",
                             "1\r\r\n",
                             "1\r\na\n",
                             "1\r\nab\r\n",
                             "1\r\na\r\n0\n\n",
                             "1\r\na\r\n0\r\n\n",
                             "0\r\nT: t\n\r\n",
                             "0\r\nT\r\n\r\n",
                             "0\r\n: t\r\n\r\n",
                             "0\r\nT : t\r\n\r\n"}) {
    EXPECT_EQ(400, StatusOf(begin + chunks)) << chunks;
  }
}

TEST(HttpParserTest, AskedOfOneHostAtLeast) {
  EXPECT_EQ(400, StatusOf("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(400, StatusOf("GET http://a/ HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(State::kDone, Parse("GET / HTTP/1.0\r\n\r\n").state());
}

TEST(HttpParserTest, RefusesWhatIsMalformed) {
  for (const char* bytes :
       {"GET\r\n\r\n", "GET /\r\n\r\n", "GET  / FTP/1.1\r\n\r\n", "G\1T / HTTP/1.1\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n", "GET /?%zz HTTP/1.1\r\n\r\n", "GET /?% HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nA : b\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nA: b\1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET http://[/ HTTP/1.1\r\n\r\n", "GET /a#b HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(400, StatusOf(bytes)) << bytes;
  }
  EXPECT_EQ(505, StatusOf("GET / HTTP/2.0\r\n\r\n"));
  EXPECT_EQ(505, StatusOf("GET / HTTP/1.2\r\n\r\n"));
  EXPECT_EQ(400, StatusOf("GET / HTTP/1.11\r\n\r\n"));
  EXPECT_EQ(400, StatusOf("GET / HTTP/x\r\n\r\n"));
  EXPECT_EQ(501, StatusOf("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"));
  EXPECT_EQ(417, StatusOf("GET / HTTP/1.1\r\nExpect: wonders\r\n\r\n"));
  EXPECT_EQ(431, StatusOf("GET / HTTP/1.1\r\nA: " + std::string(9000, 'a')));
  EXPECT_EQ(413, StatusOf("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n"));
}

TEST(HttpParserTest, StopsAtTheEndOfARequest) {
  HttpParser parser;
  const std::string_view bytes = "GET / HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n";
  EXPECT_EQ(18u, parser.Take(bytes));
  parser.set_max_body(0);
  EXPECT_EQ(State::kDone, parser.state());
  EXPECT_EQ(0u, parser.Take(bytes.substr(18)));
}

TEST(HttpParserTest, AnAbsoluteTargetSaysTheHost) {
  HttpParser parser = Parse("GET http://a:1/x?y=z HTTP/1.1\r\nHost: b\r\n\r\n");
  EXPECT_EQ("/x", parser.request().path);
  EXPECT_EQ("a:1", *parser.request().Header("host"));
}

TEST(HttpParserTest, OldConnectionsEndUnlessTheySayOtherwise) {
  EXPECT_FALSE(Parse("GET / HTTP/1.0\r\n\r\n").request().keep_alive);
  EXPECT_TRUE(Parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").request().keep_alive);
  EXPECT_FALSE(
      Parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").request().keep_alive);
  EXPECT_TRUE(
      Parse("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").expects_continue());
}

}  // namespace
}  // namespace gearstalk
