#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

// What the layers have to say to the operator. They name an event and its fields; how lines look,
// where they go and how many of a kind are too many is the sink's business (broker/process/log.h).
// Without a sink nothing is logged. Any thread may log.
//
//   Log(LogLevel::kWarning, "accepting paused", {{"error", why}, {"connections", count}});
//   if (Logs(LogLevel::kDebug)) LogOfClient(LogLevel::kDebug, "connection closed", {...});
//
// A line about a connection has the fields {"client", address} and {"connection", id}.
namespace gearstalk {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kCritical, kOff };

// A name and a text or a number. Texts live until the call that takes the field is over.
class LogField {
 public:
  LogField(std::string_view name, std::string_view text) : name_(name), text_(text) {}
  LogField(std::string_view name, const char* text) : name_(name), text_(text) {}
  LogField(std::string_view name, const std::string& text) : name_(name), text_(text) {}
  LogField(std::string_view name, std::uint64_t number)
      : name_(name), number_(number), is_number_(true) {}

  std::string_view name() const { return name_; }
  bool is_number() const { return is_number_; }
  std::string_view text() const { return text_; }
  std::uint64_t number() const { return number_; }

 private:
  std::string_view name_;
  std::string_view text_;
  std::uint64_t number_ = 0;
  bool is_number_ = false;
};

// Who may make an event happen. Those of clients are limited in number by the sink, each event
// text by itself.
enum class LogCause : std::uint8_t { kBroker, kClient };

using LogSink = void (*)(LogLevel level, LogCause cause, std::string_view event,
                         std::span<const LogField> fields);

// nullptr: none. `least` is the least level that the sink is called for.
void SetLogSink(LogSink sink, LogLevel least);
LogLevel LeastLogLevel();
// Until the sink is set again.
void SetLeastLogLevel(LogLevel least);

// Set by the functions above.
extern std::atomic<LogLevel> least_log_level;

// Whether a line of this level would be written; for what is costly to say.
inline bool Logs(LogLevel level) {
  return level >= least_log_level.load(std::memory_order_relaxed) && level != LogLevel::kOff;
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
// What a client can cause as often as it likes.
void LogOfClient(LogLevel level, std::string_view event,
                 std::initializer_list<LogField> fields = {});

}  // namespace gearstalk
