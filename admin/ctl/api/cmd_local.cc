// What needs no broker's jobs: who am I, new tokens, completions.

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <memory>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/completion.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"
#include "broker/base/base64.h"
#include "broker/version.h"

namespace gearstalk::ctl::api {
namespace {

Action DeclareWhoAmI(CLI::App&) {
  return [](const Settings& settings) {
    return UseApi(settings, [](Api& api) {
      Json session;
      if (!api.Get("/session", session)) return api.exit_code();
      return Print(api, session, [](const Json& now) {
        Say(fmt::format("{} {}{} on {} via {}", Word(now, "user"), Word(now, "role"),
                        now.value("bodies", false) ? "+bodies" : "",
                        Words(now.value("tubes", Json())), Word(now, "via")));
      });
    });
  };
}

// --- token

struct TokenOptions {
  std::string name, role, tubes;
  bool bodies = false;
};

std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  GS_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return "gst_" + ToBase64Url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string Sha256Hex(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string hex;
  for (const unsigned char byte : hash) hex += fmt::format("{:02x}", byte);
  return hex;
}

Action DeclareToken(CLI::App& app) {
  auto options = std::make_shared<TokenOptions>();
  app.add_option("NAME", options->name, "Name of the user")->required();
  app.add_option("ROLE", options->role, "viewer, operator or admin")
      ->required()
      ->check(CLI::IsMember({"viewer", "operator", "admin"}));
  app.add_flag("--bodies", options->bodies, "May see bodies");
  app.add_option("--tubes", options->tubes, "Shell patterns of the tubes that the user sees");
  return [options](const Settings& settings) {
    const std::string token = NewToken();
    std::string line = fmt::format("{} {}{} sha256:{}", options->name, options->role,
                                   options->bodies ? "+bodies" : "", Sha256Hex(token));
    if (!options->tubes.empty()) line += " " + options->tubes;
    if (settings.json) {
      Say(Json{{"token", token}, {"user", line}}.dump());
    } else {
      Say(token);
      Say(line);
    }
    return kDone;
  };
}

Action DeclareCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell](const Settings&) {
    Say(Completion(*shell));
    return kDone;
  };
}

Action DeclareVersion(CLI::App&) {
  return [](const Settings& settings) {
    Say(settings.json ? Json{{"version", kVersion}}.dump()
                      : fmt::format("gearstalkctl {}", kVersion));
    return kDone;
  };
}

}  // namespace

std::vector<Command> LocalCommands() {
  return {
      {"whoami", "Show what the server lets you do", "gearstalkctl whoami", DeclareWhoAmI},
      {"token", "Make a token, and the line for console.users",
       "gearstalkctl token ann operator --bodies", DeclareToken},
      {"completion", "Print completions for a shell", "gearstalkctl completion bash",
       DeclareCompletion},
      {"version", "Print the version", "gearstalkctl version", DeclareVersion},
  };
}

}  // namespace gearstalk::ctl::api
