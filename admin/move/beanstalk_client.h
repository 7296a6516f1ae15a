#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/channel.h"

namespace gearstalk::ctl {

// The statistics of a server, tube or job: lines `key: value`.
class Yaml {
 public:
  Yaml() = default;
  explicit Yaml(std::string text) : text_(std::move(text)) {}

  bool empty() const { return text_.empty(); }
  // Without quotes; empty if there is no such key.
  std::string_view Get(std::string_view key) const;
  std::uint64_t Number(std::string_view key) const;

 private:
  std::string text_;
};

// A client of a beanstalkd. Commands are buffered until Flush, or until a read has to wait; answers
// come in order.
class BeanstalkClient : public Client {
 public:
  // Of a probe that ProbeId could not delete.
  static constexpr std::string_view kProbeTube = "gearstalkctl-probe";

  // `silence_ms`: how long a read waits for an answer; -1: for ever.
  explicit BeanstalkClient(std::unique_ptr<Channel> channel, int silence_ms = kSilenceMs)
      : Client(std::move(channel)), silence_ms_(silence_ms) {}

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
  // `stats`. kInvalid: what answers is no beanstalkd.
  Result<Yaml> AskStats();
  Result<std::vector<std::string>> AskList(std::string_view command);
  // kInvalid: the server is the one at `here`, whatever its addresses are, so jobs would be moved
  // from it to itself without end. A beanstalkd says so by its id.
  Status RefuseSame(const Target& here);
  // The id of a job that is put (delayed or ready) and deleted again: ids of jobs that were there
  // before lie below it. 0: the server takes none.
  Result<std::uint64_t> ProbeId(bool delayed) const;

 private:
  const int silence_ms_;
};

}  // namespace gearstalk::ctl
