#include "broker/base/log.h"

namespace gearstalk {

std::atomic<LogLevel> least_log_level = LogLevel::kOff;

namespace {

std::atomic<LogSink> log_sink = nullptr;

void Write(LogLevel level, LogCause cause, std::string_view event,
           std::initializer_list<LogField> fields) {
  if (!Logs(level)) return;
  const LogSink sink = log_sink.load(std::memory_order_relaxed);
  if (sink != nullptr) sink(level, cause, event, {fields.begin(), fields.size()});
}

}  // namespace

void SetLogSink(LogSink sink, LogLevel least) {
  log_sink = sink;
  least_log_level = least;
}

void SetLeastLogLevel(LogLevel least) { least_log_level = least; }

LogLevel LeastLogLevel() { return least_log_level; }

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  Write(level, LogCause::kBroker, event, fields);
}

void LogOfClient(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  Write(level, LogCause::kClient, event, fields);
}

}  // namespace gearstalk
