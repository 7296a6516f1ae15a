#include "broker/app/config_problems.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "broker/app/security.h"
#include "broker/app/settings.h"
#include "broker/app/sockets.h"
#include "broker/base/clock.h"
#include "broker/base/split.h"
#include "broker/policy/policy_rules.h"
#include "broker/process/user.h"
#include "broker/server/listener.h"

namespace gearstalk {
namespace {

namespace fs = std::filesystem;

class Inspection {
 public:
  explicit Inspection(const Config& config) : config_(config) {}

  std::vector<std::string> Run() && {
    CheckUser();
    CheckAddresses();
    CheckFiles();
    CheckTls();
    return std::move(problems_);
  }

 private:
  void Problem(std::string_view key, std::string_view value, std::string_view what) {
    problems_.push_back(fmt::format("{} '{}': {}", key, value, what));
  }

  // --- Users

  void CheckUser() {
    if (!config_.user.empty() && !UserExists(config_.user)) {
      Problem("user", config_.user, "there is no such user");
      return;
    }
    user_ = config_.user.empty() ? OwnerOf(config_.data_dir) : config_.user;
  }

  // A service manager may start the broker as another user than the one who checks its
  // configuration. That user owns the journal.
  static std::string OwnerOf(const std::string& directory) {
    struct stat status {};
    if (directory.empty() || stat(directory.c_str(), &status) != 0) return {};
    return UserName(status.st_uid);
  }

  std::string WhoReads() const {
    return user_.empty() ? std::string("this user") : fmt::format("the user '{}'", user_);
  }

  // --- Addresses

  // A malformed address is an error of its own.
  void CheckAddresses() {
    for (const std::string& text : config_.listen) {
      const Result<ListenAddress> address = ListenAddress::Parse(text);
      if (address.ok()) CheckAddress("listen", text, address.value());
    }
    for (const std::string& text : config_.admin) {
      const Result<ListenAddress> address = ParseAdminAddress(text);
      if (address.ok()) CheckAddress("admin", text, address.value());
    }
  }

  void CheckAddress(std::string_view key, const std::string& text, const ListenAddress& address) {
    if (address.path.empty()) {
      CheckHost(key, text, address.host, address.port);
    } else {
      CheckUnixSocket(key, text, address);
    }
  }

  void CheckHost(std::string_view key, const std::string& text, std::string_view host,
                 const std::string& port) {
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    const Result<std::vector<std::string>> addresses = ResolveHost(std::string(host), port);
    if (!addresses.ok()) {
      Problem(key, text, fmt::format("cannot resolve the host: {}", addresses.status().message()));
    } else if (port != "0") {
      Take(key, text, addresses.value());
    }
  }

  void CheckUnixSocket(std::string_view key, const std::string& text,
                       const ListenAddress& address) {
    if (address.path.starts_with('@')) return Take(key, text, {"unix:" + address.path});  // no file
    if (!address.path.starts_with('/')) {
      return Problem(key, text, "the path is relative: begin it with '/'");
    }
    // The service manager makes a directory in /run at the start.
    const fs::path directory = fs::path(address.path).parent_path();
    if (!fs::is_directory(directory) && directory.parent_path() != "/run") {
      Problem(key, text, "the directory of the socket does not exist");
    }
    if (!address.owner.empty() && !UserExists(address.owner)) {
      Problem(key, text, fmt::format("there is no user '{}'", address.owner));
    }
    if (!address.group.empty() && !GroupExists(address.group)) {
      Problem(key, text, fmt::format("there is no group '{}'", address.group));
    }
    CheckOwnership(key, text, address);
    Take(key, text, {"unix:" + address.path});
  }

  // Whether the broker may chown the socket. With the option `user` it is root that does.
  void CheckOwnership(std::string_view key, const std::string& text, const ListenAddress& address) {
    const bool owner = address.owner.empty() || UserExists(address.owner);
    const bool group = address.group.empty() || GroupExists(address.group);
    if (!config_.user.empty() || !owner || !group) return;
    if (!MayChown(user_, address.owner, {})) {
      Problem(key, text,
              fmt::format("{} may not give it to another user: leave out owner=", WhoReads()));
    }
    if (!MayChown(user_, {}, address.group)) {
      Problem(key, text, fmt::format("{} is not in the group '{}'", WhoReads(), address.group));
    }
  }

  // `names` are all addresses of one entry.
  void Take(std::string_view key, const std::string& text, const std::vector<std::string>& names) {
    for (const Taken& other : taken_) {
      const bool collides = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return Collide(other.name, name);
      });
      if (!collides) continue;
      Problem(key, text, fmt::format("'{}' of {} takes the same address", other.text, other.key));
      return;
    }
    for (const std::string& name : names) taken_.push_back({std::string(key), text, name});
  }

  // Whether two addresses are equal, or have one port and family and one of them is the wildcard.
  static bool Collide(std::string_view a, std::string_view b) {
    if (a == b) return true;
    const std::size_t at = a.rfind(':'), bt = b.rfind(':');
    if (a.substr(at) != b.substr(bt) || a.starts_with('[') != b.starts_with('[')) return false;
    const auto wildcard = [](std::string_view host) { return host == "0.0.0.0" || host == "[::]"; };
    return wildcard(a.substr(0, at)) || wildcard(b.substr(0, bt));
  }

  // --- Files

  void CheckFiles() {
    if (!config_.data_dir.empty()) CheckDataDir();
    if (constexpr std::string_view kFile = "file:"; config_.log_to.starts_with(kFile)) {
      CheckNewFile("log_to", config_.log_to, config_.log_to.substr(kFile.size()));
    }
    if (!config_.pid_file.empty()) CheckDirectoryOf("pid_file", config_.pid_file, config_.pid_file);
    CheckReadable("tls.certificate", config_.tls.certificate);
    CheckReadable("tls.key", config_.tls.key);
    CheckReadable("tls.client_ca", config_.tls.client_ca);
  }

  void CheckDataDir() {
    const std::string& directory = config_.data_dir;
    if (!fs::exists(directory)) {
      // A start makes it where it may.
      const fs::path parent = fs::absolute(directory + "/.").parent_path().parent_path();
      if (fs::is_directory(parent) && MayAccess(user_, parent, W_OK | X_OK)) return;
      Problem("data_dir", directory, "does not exist: create it, owned by the user of the broker");
    } else if (!fs::is_directory(directory)) {
      Problem("data_dir", directory, "is not a directory");
    } else if (!MayAccess(user_, directory, R_OK | W_OK | X_OK)) {
      Problem("data_dir", directory, fmt::format("{} may not write there", WhoReads()));
    }
  }

  bool CheckDirectoryOf(std::string_view key, const std::string& value, const fs::path& file) {
    if (fs::is_directory(file.parent_path())) return true;
    Problem(key, value, fmt::format("'{}' is not a directory", file.parent_path().string()));
    return false;
  }

  void CheckNewFile(std::string_view key, const std::string& value, const fs::path& file) {
    if (!CheckDirectoryOf(key, value, file)) return;
    const bool there = fs::exists(file);
    if (fs::is_directory(file)) {
      Problem(key, value, "is a directory");
    } else if (!MayAccess(user_, there ? file.string() : file.parent_path().string(), W_OK)) {
      Problem(key, value, fmt::format("{} may not write there", WhoReads()));
    }
  }

  void CheckReadable(std::string_view key, const std::string& file) {
    // LoadSecurity reports files that the caller cannot read either.
    if (file.empty() || access(file.c_str(), R_OK) != 0 || MayAccess(user_, file, R_OK)) return;
    Problem(key, file, fmt::format("{} may not read it", WhoReads()));
  }

  // --- TLS

  void CheckTls() {
    const auto loaded = LoadTls(config_);
    if (!loaded.ok()) return problems_.push_back(loaded.status().message());
    if (loaded.value() == nullptr) return;
    const TlsCertificate& certificate = loaded.value()->certificates().front();
    const auto now = static_cast<std::uint64_t>(SystemClock().Now() / kSecond);
    if (now < certificate.begins) {
      Problem("tls.certificate", config_.tls.certificate, "is not valid yet");
    } else if (certificate.ends < now) {
      Problem("tls.certificate", config_.tls.certificate, "has expired");
    }
  }

  struct Taken {
    std::string key, text, name;
  };

  const Config& config_;
  std::string user_;  // who will read the files; empty: the one who asks
  std::vector<Taken> taken_;
  std::vector<std::string> problems_;
};

struct RuleText {
  std::string_view who, tubes;
};

// The parts of a well-formed rule "WHO ALLOWED [TUBES]".
RuleText SplitRule(std::string_view rule) {
  const std::vector<std::string_view> words = SplitWords(rule);
  if (words.size() < 2) return {};
  return {words[0], words.size() > 2 ? words[2] : "*"};
}

void FindUselessRules(const Config& config, std::vector<std::string>& problems) {
  const bool certificates = config.tls.client_certificates != TlsFiles::ClientCertificates::kOff;
  for (auto rule = config.rights.begin(); rule != config.rights.end(); ++rule) {
    const std::string_view who = SplitRule(*rule).who;
    if (who.starts_with("cert=") && !certificates) {
      problems.push_back(fmt::format(
          "rights '{}': no client has a certificate: set tls.client_certificates", *rule));
    }
    const auto decides = std::find_if(config.rights.begin(), rule, [&](const std::string& earlier) {
      const RuleText other = SplitRule(earlier);
      return (other.who == "*" || other.who == who) && other.tubes == "*";
    });
    if (decides == rule) continue;
    problems.push_back(
        fmt::format("rights '{}': never applies: the rule '{}' before it decides for all its tubes",
                    *rule, *decides));
  }
}

}  // namespace

std::vector<std::string> LargeBodies(const Config& config) {
  std::vector<std::string> problems;
  const PolicyRules rules(config.tubes);
  const std::uint32_t most = BeanstalkOptionsOf(config).max_job_size;
  for (const Schedule& schedule : config.schedules) {
    const std::uint32_t own = rules.Of(schedule.tube, {}).max_job_size;
    const std::uint32_t bound = own == 0 ? most : std::min(own, most);
    if (schedule.body.size() <= bound) continue;
    problems.push_back(
        fmt::format("schedules '{}': the body has {} bytes, and jobs of tube '{}' {}",
                    schedule.name, schedule.body.size(), schedule.tube, bound));
  }
  return problems;
}

std::vector<std::string> UselessSettings(const Config& config) {
  std::vector<std::string> problems;
  FindUselessRules(config, problems);
  const Config::Gearman& gearman = config.gearman;
  const auto order = [&](const char* key, std::uint32_t number, const char* other,
                         std::uint32_t bound) {
    if (number <= bound) return;
    problems.push_back(fmt::format("{} '{}': is above {} {}: a lower number runs first", key,
                                   number, other, bound));
  };
  order("gearman.priority_high", gearman.priority_high, "gearman.priority_normal",
        gearman.priority_normal);
  order("gearman.priority_normal", gearman.priority_normal, "gearman.priority_low",
        gearman.priority_low);
  return problems;
}

std::vector<std::string> ProblemsOf(const Config& config) {
  std::vector<std::string> problems = Inspection(config).Run();
  for (std::string& large : LargeBodies(config)) problems.push_back(std::move(large));
  for (std::string& useless : UselessSettings(config)) problems.push_back(std::move(useless));
  return problems;
}

}  // namespace gearstalk
