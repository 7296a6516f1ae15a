#include "admin/move/beanstalk_client.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "broker/base/split.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

std::uint64_t Number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.begin(), text.end(), value);
  return value;
}

std::string_view Unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::string_view Yaml::Get(std::string_view key) const {
  const std::string_view text = text_;
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const std::string_view rest = text.substr(at + key.size());
    if ((at > 0 && text[at - 1] != '\n') || !rest.starts_with(": ")) continue;
    return Unquoted(rest.substr(2, rest.find('\n') - 2));
  }
  return {};
}

std::uint64_t Yaml::Number(std::string_view key) const { return ctl::Number(Get(key)); }

void BeanstalkClient::Add(std::string_view command) {
  out_ += command;
  out_ += "\r\n";
}

void BeanstalkClient::AddPut(std::uint32_t priority, std::uint64_t delay_s, std::uint32_t ttr_s,
                             std::string_view body) {
  Add(fmt::format("put {} {} {} {}", priority, delay_s, ttr_s, body.size()));
  Add(body);
}

Result<std::string> BeanstalkClient::Line() {
  for (;;) {
    const std::size_t end = in_.find("\r\n", used_);
    if (end != std::string::npos) {
      std::string line = in_.substr(used_, end - used_);
      used_ = end + 2;
      return line;
    }
    GS_TRY(Await(silence_ms_));
  }
}

Result<std::string> BeanstalkClient::Ask(std::string_view command) {
  Add(command);
  return Line();
}

Result<BeanstalkClient::Answer> BeanstalkClient::Body() {
  Answer answer;
  answer.line = GS_TRY(Line());
  const std::size_t space = answer.line.find(' ');
  const std::string_view word = std::string_view(answer.line).substr(0, space);
  if (word != "RESERVED" && word != "FOUND" && word != "OK") return answer;
  answer.found = true;
  std::string_view rest = std::string_view(answer.line).substr(space + 1);
  if (word != "OK") {
    answer.id = Number(rest);
    rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  }
  const std::size_t size = Number(rest);
  while (in_.size() - used_ < size + 2) GS_TRY(Await(silence_ms_));
  answer.body = in_.substr(used_, size);
  used_ += size + 2;
  return answer;
}

Result<Yaml> BeanstalkClient::ReadYaml() {
  Answer answer = GS_TRY(Body());
  return answer.found ? Yaml(std::move(answer.body)) : Yaml();
}

Result<Yaml> BeanstalkClient::AskYaml(std::string_view command) {
  Add(command);
  return ReadYaml();
}

Result<Yaml> BeanstalkClient::AskStats() {
  Add("stats");
  Answer answer = GS_TRY(Body());
  if (answer.found) return Yaml(std::move(answer.body));
  const bool is_beanstalkd = answer.line == "OUT_OF_MEMORY" || answer.line == "INTERNAL_ERROR";
  return Status(is_beanstalkd ? Code::kIo : Code::kInvalid,
                fmt::format("{} is no beanstalkd: it answers '{}'", channel_->Name(), answer.line));
}

Result<std::vector<std::string>> BeanstalkClient::AskList(std::string_view command) {
  Add(command);
  const Answer answer = GS_TRY(Body());
  std::vector<std::string> list;
  for (const std::string_view line : Split(answer.body, '\n')) {
    if (line.starts_with("- ")) list.emplace_back(Unquoted(line.substr(2)));
  }
  return list;
}

Status BeanstalkClient::RefuseSame(const Target& here) {
  std::unique_ptr<Channel> channel = GS_TRY(Connect(here));
  BeanstalkClient other(std::move(channel));
  const Yaml there = GS_TRY(other.AskYaml("stats"));
  const std::string_view id = there.Get("id");
  if (id.empty()) return {};
  const Yaml stats = GS_TRY(AskStats());
  if (stats.Get("id") != id) return {};
  return {Code::kInvalid, fmt::format("{} and {} are one server", Name(), here.address)};
}

// A connection that has put is a producer as long as it lives, and users wait for the last one to
// leave: the probe has a connection of its own.
Result<std::uint64_t> BeanstalkClient::ProbeId(bool delayed) const {
  std::unique_ptr<Channel> channel = GS_TRY(Connect({.address = Name()}));
  BeanstalkClient producer(std::move(channel));
  producer.Add(fmt::format("use {}", kProbeTube));
  producer.AddPut(0, delayed ? 3600 : 0, 60, "");
  GS_TRY(producer.Line());
  const std::string inserted = GS_TRY(producer.Line());
  if (!inserted.starts_with("INSERTED ")) return std::uint64_t{0};
  const std::string id = inserted.substr(9);
  GS_TRY(producer.Ask("delete " + id));
  return ctl::Number(id);
}

}  // namespace gearstalk::ctl
