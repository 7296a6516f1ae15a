#include "broker/postgres/addresses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/socket.h>

#include <list>
#include <utility>

namespace gearstalk::postgres {
namespace {

bool IsNumeric(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

}  // namespace

// glibc writes into it until the lookup is over.
struct Addresses::Lookup {
  explicit Lookup(std::string text) : name(std::move(text)) {
    hints.ai_socktype = SOCK_STREAM;
    request.ar_name = name.c_str();
    request.ar_request = &hints;
    gaicb* list[] = {&request};
    started = getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr) == 0;
  }
  ~Lookup() {
    if (request.ar_result != nullptr) freeaddrinfo(request.ar_result);
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  bool over() { return !started || gai_error(&request) != EAI_INPROGRESS; }

  std::string trouble() {
    if (!started) return "too many lookups are under way";
    const int error = gai_error(&request);
    return error == 0 ? "" : gai_strerror(error);
  }

  std::vector<std::string> found() const {
    std::vector<std::string> addresses;
    for (const addrinfo* each = request.ar_result; each != nullptr; each = each->ai_next) {
      char text[NI_MAXHOST];
      const bool good = getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0,
                                    NI_NUMERICHOST) == 0;
      if (good) addresses.emplace_back(text);
    }
    return addresses;
  }

  const std::string name;
  addrinfo hints{};
  gaicb request{};
  bool started = false;
};

Addresses::Addresses(const std::vector<Host>& hosts) {
  for (const Host& host : hosts) {
    const auto value = [&](const char* word) {
      const auto found = host.words.find(word);
      return found == host.words.end() ? std::string() : found->second;
    };
    const std::string where = value("host");
    const bool is_name = value("hostaddr").empty() && !where.empty() && where.front() != '/' &&
                         where.front() != '@' && !IsNumeric(where);
    names_.emplace_back().text = is_name ? where : "";
  }
}

// A lookup that glibc has begun cannot be ended: it stays until it is over, also when the process
// ends before.
Addresses::~Addresses() {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory, the process ends.
  static auto& left = *new std::list<std::unique_ptr<Lookup>>;
  left.remove_if([](const std::unique_ptr<Lookup>& each) { return each->over(); });
  for (Name& name : names_) {
    if (name.lookup == nullptr) continue;
    if (gai_cancel(&name.lookup->request) == EAI_NOTCANCELED)
      left.push_back(std::move(name.lookup));
  }
}

void Addresses::Advance(Name& name) {
  if (name.lookup == nullptr) {
    if (!name.doubted) return;
    name.doubted = false;
    name.lookup = std::make_unique<Lookup>(name.text);
  }
  if (!name.lookup->over()) return;
  name.trouble = name.lookup->trouble();
  std::vector<std::string> found = name.lookup->found();
  name.lookup.reset();
  if (!found.empty()) name.known = std::move(found);
  if (!name.trouble.empty()) name.doubted = true;
}

bool Addresses::Fill(std::size_t host, Host& there, Time now) {
  Name& name = names_[host];
  if (name.text.empty()) return true;
  Advance(name);
  if (name.known.empty()) {
    if (name.waits_since == 0) name.waits_since = now;
    return false;
  }
  name.waits_since = 0;
  const std::vector<std::string> names(name.known.size(), name.text);
  there.words["host"] = fmt::format("{}", fmt::join(names, ","));
  there.words["hostaddr"] = fmt::format("{}", fmt::join(name.known, ","));
  return true;
}

void Addresses::Reached(std::size_t host, const std::string& address) {
  if (!address.empty() && !names_[host].text.empty()) names_[host].known = {address};
}

void Addresses::Doubt(std::size_t host) {
  names_[host].doubted = true;
  names_[host].waits_since = 0;
}

}  // namespace gearstalk::postgres
