#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/postgres/conninfo.h"

namespace gearstalk::postgres {

// Where hosts are. glibc looks names up on threads of its own, one lookup a name at a time, because
// libpq would wait for the answer. What is known stays in use until a lookup finds something else.
class Addresses {
 public:
  explicit Addresses(const std::vector<Host>& hosts);
  ~Addresses();
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  // Sets where libpq connects to. False: nothing is known yet, and a lookup is under way.
  bool Fill(std::size_t host, Host& there, Time now);
  // The host was reached at this address.
  void Reached(std::size_t host, const std::string& address);
  // It was not: the next Fill looks its name up again.
  void Doubt(std::size_t host);

  // When Fill began to wait for a lookup; 0: it does not wait.
  Time waits_since(std::size_t host) const { return names_[host].waits_since; }
  // Why a name was not found; empty: it was, or it was not looked up yet.
  const std::string& trouble(std::size_t host) const { return names_[host].trouble; }

 private:
  struct Lookup;
  struct Name {
    std::string text;                // empty: there is nothing to look up
    std::vector<std::string> known;  // addresses
    std::unique_ptr<Lookup> lookup;  // under way
    bool doubted = true;
    Time waits_since = 0;
    std::string trouble;
  };

  static void Advance(Name& name);

  std::vector<Name> names_;
};

}  // namespace gearstalk::postgres
