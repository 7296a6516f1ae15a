#include "broker/etcd/values.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "broker/base/split.h"

namespace gearstalk::etcd {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The members of a JSON object of strings, numbers and booleans. Numbers and booleans keep their
// text.
class FlatObject {
 public:
  static std::optional<FlatObject> Parse(std::string_view text) {
    FlatObject object;
    object.rest_ = text;
    if (!object.Take('{')) return std::nullopt;
    if (object.Take('}')) return object;
    do {
      const std::optional<std::string> name = object.Text();
      if (!name || !object.Take(':')) return std::nullopt;
      const std::optional<std::string> value = object.Value();
      if (!value) return std::nullopt;
      object.members_[*name] = *value;
    } while (object.Take(','));
    if (!object.Take('}')) return std::nullopt;
    return object;
  }

  std::string Get(const std::string& name) const {
    const auto found = members_.find(name);
    return found == members_.end() ? std::string() : found->second;
  }
  // False: the member is missing or not a number.
  template <typename T>
  bool Get(const std::string& name, T& number) const {
    return ParseNumber(Get(name), number);
  }

 private:
  void SkipSpace() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(at, rest_.size()));
  }
  bool Take(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> Text() {
    if (!Take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        if (rest_.empty()) return std::nullopt;
        c = rest_.front();
        rest_.remove_prefix(1);
        if (c == 'u' && !Escape(c)) return std::nullopt;
      }
      text += c;
    }
    return Take('"') ? std::optional(text) : std::nullopt;
  }
  // Reads only the escapes that Quoted writes.
  bool Escape(char& c) {
    unsigned code = 0;
    if (rest_.size() < 4 || !ParseNumber(rest_.substr(0, 4), code, 16) || code > 0x7F) return false;
    rest_.remove_prefix(4);
    c = static_cast<char>(code);
    return true;
  }
  std::optional<std::string> Value() {
    SkipSpace();
    if (rest_.starts_with('"')) return Text();
    const std::size_t size = std::min(rest_.find_first_of(",} \t\r\n"), rest_.size());
    if (size == 0) return std::nullopt;
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  std::map<std::string, std::string> members_;
};

Status Bad(std::string_view key, std::string_view text) {
  return {Code::kCorrupt, fmt::format("{}: cannot read '{}'", key, text.substr(0, 200))};
}

}  // namespace

std::string ToJson(const Reign& reign) {
  return fmt::format(
      R"({{"broker":{},"id":{},"attempt":{},"epoch":{},"lease_ms":{},"address":{},"vacant":{}}})",
      Quoted(reign.broker), Quoted(reign.id), reign.attempt, reign.epoch,
      reign.lease / kMillisecond, Quoted(reign.address), reign.vacant);
}

std::string ToJson(const ShardMeta& meta) {
  return fmt::format(R"({{"format":{},"server_name":{},"shard":{},"created":{}}})", meta.format,
                     Quoted(meta.server_name), meta.shard, Quoted(meta.created));
}

std::string StandbyJson(const Reign& standby) {
  return fmt::format(R"({{"broker":{},"address":{}}})", Quoted(standby.broker),
                     Quoted(standby.address));
}

std::string BeatJson(std::uint64_t epoch, std::uint64_t counter) {
  return fmt::format(R"({{"epoch":{},"counter":{}}})", epoch, counter);
}

std::string TailJson(std::uint64_t last, std::uint64_t oldest) {
  return fmt::format(R"({{"seq":{},"oldest":{}}})", last, oldest);
}

Status FromJson(std::string_view text, Reign& reign) {
  const std::optional<FlatObject> object = FlatObject::Parse(text);
  Time lease_ms = 0;
  if (!object || !object->Get("attempt", reign.attempt) || !object->Get("epoch", reign.epoch) ||
      !object->Get("lease_ms", lease_ms) || lease_ms < 1 || lease_ms > 3'600'000) {
    return Bad("leader", text);
  }
  reign.lease = lease_ms * kMillisecond;
  reign.broker = object->Get("broker");
  reign.id = object->Get("id");
  reign.address = object->Get("address");
  reign.vacant = object->Get("vacant") == "true";
  return {};
}

Status FromJson(std::string_view text, ShardMeta& meta) {
  const std::optional<FlatObject> object = FlatObject::Parse(text);
  if (!object || !object->Get("format", meta.format)) return Bad("meta", text);
  object->Get("shard", meta.shard);
  meta.server_name = object->Get("server_name");
  meta.created = object->Get("created");
  return {};
}

Status TailFromJson(std::string_view text, std::uint64_t& last, std::uint64_t& oldest) {
  const std::optional<FlatObject> object = FlatObject::Parse(text);
  const bool good = object && object->Get("seq", last) && object->Get("oldest", oldest) &&
                    oldest >= 1 && oldest <= last;
  return good ? Status() : Bad("tail", text);
}

std::string LacksOf(const std::string& version) {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3) return "";
  using Version = std::array<int, 3>;
  static constexpr std::pair<Version, const char*> kMended[] = {
      {{3, 5, 0},
       "this line has no support since June 2026, and a compaction may hide a deletion from "
       "watches (etcd's issue 17780)"},
      {{3, 5, 3}, "nodes may disagree after a crash (mended in 3.5.3)"},
      {{3, 5, 8}, "a watch may go back in time (mended in 3.5.8)"},
      {{3, 5, 13}, "a watch may lose events after a compaction (mended in 3.5.13)"},
      {{3, 5, 17}, "a compaction may hide a deletion from watches (etcd's issue 17780)"}};
  for (const auto& [since, lacks] : kMended) {
    if (Version{major, minor, patch} < since) return lacks;
  }
  return "";
}

}  // namespace gearstalk::etcd
