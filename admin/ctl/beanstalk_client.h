#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/ctl/channel.h"

namespace gearstalk::ctl {

// A client of a beanstalkd. Commands gather and go with the first read; answers come in order.
class BeanstalkClient {
 public:
  using Yaml = std::map<std::string, std::string, std::less<>>;

  explicit BeanstalkClient(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  void Add(std::string_view command);  // without the CRLF
  void AddPut(std::uint32_t priority, std::uint64_t delay_s, std::uint32_t ttr_s,
              std::string_view body);

  // The next line of an answer, without the CRLF.
  Result<std::string> Line();
  // One command and its line.
  Result<std::string> Ask(std::string_view command);
  // An answer with a body: RESERVED, FOUND or OK. `found` false: another line, which is in `line`.
  struct Answer {
    bool found = false;
    std::string line;
    std::uint64_t id = 0;
    std::string body;
  };
  Result<Answer> Body();
  // OK with YAML; empty if there is no such thing.
  Result<Yaml> ReadYaml();
  Result<Yaml> AskYaml(std::string_view command);
  Result<std::vector<std::string>> AskList(std::string_view command);

 private:
  Status Flush();
  Status More();

  std::unique_ptr<Channel> channel_;
  std::string out_, in_;
  std::size_t used_ = 0;
};

std::uint64_t NumberIn(const BeanstalkClient::Yaml& yaml, std::string_view key);

}  // namespace gearstalk::ctl
