// What needs no broker's jobs: who am I, new tokens, completions.

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/completion.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"
#include "broker/base/base64.h"
#include "broker/version.h"

namespace gearstalk::ctl::api {
namespace {

int WhoAmI(Api& api) {
  Json session;
  if (!api.Get("/session", session)) return api.exit_code();
  return Print(api, session, [](const Json& now) {
    Say(fmt::format("{} {}{} on {} via {}", Word(now, "user"), Word(now, "role"),
                    now.value("bodies", false) ? "+bodies" : "", Words(now.value("tubes", Json())),
                    Word(now, "via")));
  });
}

// --- token

struct TokenOptions {
  std::string name, role, tubes;
  bool bodies = false;

  Parameters AsParameters() {
    return {{"NAME", &name, "Name of the user", kRequired},
            {"ROLE",
             &role,
             "viewer, operator or admin",
             {.required = true, .one_of = {"viewer", "operator", "admin"}}},
            {"--bodies", &bodies, "May see bodies"},
            {"--tubes", &tubes, "Shell patterns of the tubes that the user sees"}};
  }
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

int Token(const Settings& settings, TokenOptions& options) {
  const std::string token = NewToken();
  std::string line = fmt::format("{} {}{} sha256:{}", options.name, options.role,
                                 options.bodies ? "+bodies" : "", Sha256Hex(token));
  if (!options.tubes.empty()) line += " " + options.tubes;
  if (settings.json) {
    Say(Json{{"token", token}, {"user", line}}.dump());
  } else {
    Say(token);
    Say(line);
  }
  return kDone;
}

struct CompletionOptions {
  std::string shell;

  Parameters AsParameters() {
    return {{"SHELL",
             &shell,
             "bash, zsh or fish",
             {.required = true, .one_of = {"bash", "zsh", "fish"}}}};
  }
};

int PrintCompletion(const Settings& /*settings*/, CompletionOptions& options) {
  Say(Completion(options.shell));
  return kDone;
}

int Version(const Settings& settings) {
  Say(settings.json ? Json{{"version", kVersion}}.dump()
                    : fmt::format("gearstalkctl {}", kVersion));
  return kDone;
}

}  // namespace

std::vector<Command> LocalCommands() {
  return {
      {"whoami", "Show what the server lets you do", "gearstalkctl whoami", BindApi(WhoAmI)},
      {"token", "Make a token, and the line for console.users",
       "gearstalkctl token ann operator --bodies", Bind<TokenOptions>(Token)},
      {"completion", "Print completions for a shell", "gearstalkctl completion bash",
       Bind<CompletionOptions>(PrintCompletion)},
      {"version", "Print the version", "gearstalkctl version", {{}, Version}},
  };
}

}  // namespace gearstalk::ctl::api
