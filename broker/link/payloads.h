#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gearstalk::link {

// What frames carry. `Decode...` returns nothing for malformed bytes. `Visit` has the fields in the
// order in which they are written.

// OPEN
struct Open {
  std::uint16_t listener = 0;  // as the router was given them, from 0 on
  std::uint16_t port = 0;
  std::string address{};  // 4 or 16 bytes; none: a Unix socket
};
std::string Encode(const Open& open);
std::optional<Open> DecodeOpen(std::string_view payload);

// RESET: why a router gave a client up, and the reason in words.
enum class Trouble : std::uint8_t {
  kReset,        // by the client
  kTls,          // the handshake failed, or was none
  kTlsLater,     // TLS failed after the handshake
  kSlow,         // the handshake took too long
  kDescriptors,  // of the link itself: accepting pauses
};
struct Reset {
  Trouble trouble = Trouble::kReset;
  std::string_view reason{};
};
std::string Encode(const Reset& reset);
std::optional<Reset> DecodeReset(std::string_view payload);

// CREDIT: so many bytes were delivered, so many more may be sent.
struct Credit {
  std::uint32_t delivered = 0;
  std::uint32_t granted = 0;

  static void Visit(auto& credit, auto& visit) { visit(credit.delivered, credit.granted); }
};
std::string Encode(const Credit& credit);
std::optional<Credit> DecodeCredit(std::string_view payload);

// CLOSE. From the broker: 1 if the client is to see that nothing is missing, as far as TLS can tell
// it. From a router: how many bytes it has not reported as delivered.
std::string EncodeClose(std::uint32_t number);
std::optional<std::uint32_t> DecodeClose(std::string_view payload);

// PING from a router: what it has counted since its start.
struct Counters {
  std::uint64_t ping = 0;      // the number that it answers
  std::uint64_t accepted = 0;  // clients
  std::uint64_t handshakes = 0;
  std::uint64_t received_bytes = 0;  // from clients, with TLS
  std::uint64_t sent_bytes = 0;      // to clients

  static void Visit(auto& counters, auto& visit) {
    visit(counters.ping, counters.accepted, counters.handshakes, counters.received_bytes,
          counters.sent_bytes);
  }
};
std::string Encode(const Counters& counters);
std::optional<Counters> DecodeCounters(std::string_view payload);

// RELOAD
struct Settings {
  std::uint64_t handshake_timeout = 0;  // nanoseconds
  std::uint64_t connections = 0;        // the most clients of this router
  std::string tls_uses;                 // of each listener, a byte: TlsUse
  bool tls = false;                     // whether there are texts
  std::uint8_t client_certificates = 0;
  std::string certificate, key, client_ca;  // PEM

  static void Visit(auto& settings, auto& visit) {
    visit(settings.handshake_timeout, settings.connections, settings.tls,
          settings.client_certificates, settings.tls_uses, settings.certificate, settings.key,
          settings.client_ca);
  }
};
std::string Encode(const Settings& settings);
std::optional<Settings> DecodeSettings(std::string_view payload);

}  // namespace gearstalk::link
