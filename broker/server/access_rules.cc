#include "broker/server/access_rules.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 4> kWords = {{
    {"produce", right::kProduce},
    {"consume", right::kConsume},
    {"admin", right::kAdmin},
    {"observe", right::kObserve},
}};

Status Bad(std::string why) { return {Code::kInvalid, std::move(why)}; }

Status ParseRights(std::string_view text, std::uint8_t& rights) {
  if (text == "none") return {};
  if (text == "all") {
    rights = right::kAny;
    return {};
  }
  for (const std::string_view word : Split(text, ',')) {
    const auto* const known =
        std::find_if(kWords.begin(), kWords.end(), [&](auto& row) { return row.first == word; });
    if (known == kWords.end()) {
      return Bad(fmt::format(
          "unknown right '{}': use all, none, or some of produce,consume,admin,observe", word));
    }
    rights |= known->second;
  }
  return {};
}

}  // namespace

Status AccessRules::ParseLine(std::string_view text, Line& line) {
  const std::vector<std::string_view> words = SplitWords(text);
  if (words.size() < 2 || words.size() > 3) return Bad("expected WHO ALLOWED [TUBES]");
  constexpr std::string_view kListen = "listen=";
  constexpr std::string_view kCertificate = "cert=";
  const std::string_view who = words[0];
  if (who.starts_with(kListen)) {
    line.who = Line::Who::kListen;
    line.name = who.substr(kListen.size());
  } else if (who.starts_with(kCertificate)) {
    line.who = Line::Who::kCertificate;
    line.name = who.substr(kCertificate.size());
  }
  if (line.who == Line::Who::kEverybody ? who != "*" : line.name.empty()) {
    return Bad(fmt::format("unknown subject '{}': use *, listen=ADDRESS or cert=NAME", who));
  }
  GS_TRY(ParseRights(words[1], line.rule.rights));
  for (const std::string_view tube : Split(words.size() > 2 ? words[2] : "*", ',')) {
    if (tube.empty()) return Bad("a tube name is empty");
    line.rule.tubes.emplace_back(tube);
  }
  return {};
}

Result<AccessRules> AccessRules::Parse(std::span<const std::string> lines) {
  AccessRules rules;
  for (const std::string& text : lines) {
    Line line;
    if (const Status status = ParseLine(text, line); !status.ok()) {
      return Status(Code::kInvalid, fmt::format("rights '{}': {}", text, status.message()));
    }
    rules.lines_.push_back(std::move(line));
  }
  return rules;
}

bool AccessRules::Concerns(const Line& line, std::string_view listen,
                           std::string_view certificate) {
  switch (line.who) {
    case Line::Who::kListen:
      return line.name == listen;
    case Line::Who::kCertificate:
      return !certificate.empty() &&
             fnmatch(line.name.c_str(), std::string(certificate).c_str(), 0) == 0;
    case Line::Who::kEverybody:
      break;
  }
  return true;
}

std::shared_ptr<const Access> AccessRules::For(std::string_view listen,
                                               std::string_view certificate) {
  if (lines_.empty()) return nullptr;
  std::vector<bool> concerns;
  for (const Line& line : lines_) concerns.push_back(Concerns(line, listen, certificate));
  const auto [made, is_new] = made_.try_emplace(concerns);
  if (!is_new) return made->second;
  std::vector<Access::Rule> rules;
  bool all_alike = false;  // everybody may do everything
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!concerns[i]) continue;
    all_alike = all_alike || (rules.empty() && lines_[i].who == Line::Who::kEverybody &&
                              lines_[i].rule.rights == right::kAny &&
                              lines_[i].rule.tubes == std::vector<std::string>{"*"});
    rules.push_back(lines_[i].rule);
  }
  if (!all_alike) made->second = std::make_shared<const Access>(std::move(rules));
  return made->second;
}

}  // namespace gearstalk
