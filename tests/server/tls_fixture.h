#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "broker/server/tls.h"

namespace gearstalk {

// Certificates that the `openssl` command makes for one test.
class TestCertificates {
 public:
  TestCertificates() : folder_(::testing::TempDir() + "gs-tls-" + std::to_string(getpid()) + "/") {
    std::filesystem::create_directories(folder_);
  }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  // A key and a certificate that it signed itself: `name`.key and `name`.pem.
  void SelfSigned(const std::string& name) const {
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" +
        name + " -keyout " + Path(name + ".key") + " -out " + Path(name + ".pem"));
  }
  // One that `ca` signed.
  void Signed(const std::string& name, const std::string& ca) const {
    Run("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" + name +
        " -keyout " + Path(name + ".key") + " -out " + Path(name + ".csr"));
    Run("x509 -req -days 2 -CAcreateserial -in " + Path(name + ".csr") + " -CA " +
        Path(ca + ".pem") + " -CAkey " + Path(ca + ".key") + " -out " + Path(name + ".pem"));
  }
  std::string Path(const std::string& file) const { return folder_ + file; }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(Path(file)) << text;
  }

 private:
  static void Run(const std::string& arguments) {
    ASSERT_EQ(std::system(("openssl " + arguments + " 2>/dev/null >&2").c_str()), 0) << arguments;
  }

  const std::string folder_;
};

}  // namespace gearstalk
