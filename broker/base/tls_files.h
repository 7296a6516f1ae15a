#pragma once

#include <cstdint>
#include <string>

namespace gearstalk {

// The PEM files of a TLS server, as the configuration names them.
struct TlsFiles {
  enum class ClientCertificates : std::uint8_t { kOff, kOptional, kRequired };

  std::string certificate;  // with its chain; empty: no TLS
  std::string key;          // empty: in the file of the certificate
  std::string client_ca;    // the CA of accepted client certificates
  ClientCertificates client_certificates = ClientCertificates::kOff;
};

}  // namespace gearstalk
