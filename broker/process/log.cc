#include "broker/process/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/details/os.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "broker/base/descriptor.h"
#include "broker/process/log_line.h"
#include "broker/process/log_queue.h"

namespace gearstalk {
namespace {

// What precedes a line: nothing if the receiver adds time and level.
enum class Head { kTimeAndLevel, kPriority, kNone };

class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter(Head head, bool json) : head_(head), json_(json) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    const auto at = static_cast<LogLevel>(message.level);
    const std::string_view level = NameOf(at);
    const auto out = std::back_inserter(line);
    if (head_ == Head::kPriority) fmt::format_to(out, "<{}>", PriorityOf(at));
    if (json_) {
      fmt::format_to(out, R"({{"time":"{}","level":"{}",{}}})", Time(message), level, payload);
    } else if (head_ == Head::kTimeAndLevel) {
      fmt::format_to(out, "{} {:<5} {}", Time(message), level, payload);
    } else {
      fmt::format_to(out, "{}", payload);
    }
    if (head_ != Head::kNone) line.push_back('\n');
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(head_, json_);
  }

 private:
  // RFC 3339 in UTC.
  static std::string Time(const spdlog::details::log_msg& message) {
    const auto since = message.time.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(since - seconds);
    const std::tm utc = spdlog::details::os::gmtime(static_cast<std::time_t>(seconds.count()));
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       rest.count());
  }

  Head head_;
  bool json_;
};

struct Output {
  std::unique_ptr<LogQueue> queue;
  bool json = false;
  std::uint64_t untold = 0;  // lines that were dropped, and of which none has told
};

struct State {
  std::mutex mutex;
  Output output;
  LogLimiter limiter;
  bool threads = false;  // outputs have threads of their own
  std::atomic<std::uint64_t> dropped = 0;
};

// Never destroyed: a thread may still write when the process ends.
State& TheLog() {
  static State& state = *new State;
  return state;
}

constexpr std::string_view kFile = "file:";

// spdlog would create missing directories, owned by the user who starts the broker, and a file that
// everybody may read.
spdlog::sink_ptr OpenFile(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (fd < 0) throw spdlog::spdlog_ex("cannot write", errno);
  return std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
}

Output Open(const LogSettings& settings) {
  spdlog::sink_ptr sink;
  Head head = Head::kTimeAndLevel;
  if (settings.to.starts_with(kFile)) {
    sink = OpenFile(settings.to.substr(kFile.size()));
  } else if (settings.to == "syslog") {
    sink = std::make_shared<spdlog::sinks::syslog_sink_st>("gearstalkd", LOG_PID, LOG_DAEMON, true);
    head = Head::kNone;
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
    if (settings.to == "journald") head = Head::kPriority;
  }
  auto logger = std::make_shared<spdlog::logger>("gearstalkd", std::move(sink));
  logger->set_formatter(std::make_unique<LineFormatter>(head, settings.json));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  const auto write = [logger](const LogQueue::Line& line) {
    logger->log(line.time, spdlog::source_loc(), static_cast<spdlog::level::level_enum>(line.level),
                spdlog::string_view_t(line.text.data(), line.text.size()));
  };
  return {.queue = std::make_unique<LogQueue>(write), .json = settings.json};
}

LogQueue::Line LineOf(const Output& output, LogLevel level, std::string_view event,
                      std::span<const LogField> fields) {
  return {spdlog::details::os::now(), level,
          output.json ? JsonMembers(event, fields) : TextLine(event, fields)};
}

// With the mutex held.
void WriteLine(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  Output& output = TheLog().output;
  if (output.queue == nullptr) return;
  if (output.untold > 0) {
    const LogField lost[] = {{"lines", output.untold}};
    const bool told = output.queue->Push(
        LineOf(output, LogLevel::kWarning, "lines dropped: the log is not read fast enough", lost));
    if (told) output.untold = 0;
  }
  if (output.queue->Push(LineOf(output, level, event, fields))) return;
  ++output.untold;
  TheLog().dropped.fetch_add(1, std::memory_order_relaxed);
}

// An event with a reason is one kind for each reason, so that many of one do not suppress the
// others.
std::string KindOf(std::string_view event, std::span<const LogField> fields) {
  const bool reason = !fields.empty() && fields[0].name() == "reason";
  return reason ? fmt::format("{} {}", event, fields[0].text()) : std::string(event);
}

void Sink(LogLevel level, LogCause cause, std::string_view event,
          std::span<const LogField> fields) {
  State& log = TheLog();
  const std::lock_guard lock(log.mutex);
  if (cause == LogCause::kClient && !log.limiter.Admit(KindOf(event, fields))) return;
  WriteLine(level, event, fields);
}

}  // namespace

static_assert(static_cast<int>(LogLevel::kCritical) == spdlog::level::critical &&
              static_cast<int>(LogLevel::kOff) == spdlog::level::off);

Status OpenLog(const LogSettings& settings) {
  State& log = TheLog();
  const std::lock_guard lock(log.mutex);
  try {
    log.output = Open(settings);
    if (log.threads) log.output.queue->Start();
  } catch (const spdlog::spdlog_ex& error) {
    return {Code::kIo, fmt::format("log_to: '{}': {}", settings.to, error.what())};
  }
  SetLogSink(Sink, settings.level);
  return {};
}

void LogAlways(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  const std::lock_guard lock(TheLog().mutex);
  WriteLine(level, event, {fields.begin(), fields.size()});
}

void StartLogThread() {
  State& log = TheLog();
  const std::lock_guard lock(log.mutex);
  log.threads = true;
  log.output.queue->Start();
}

bool DrainLog() {
  constexpr std::chrono::milliseconds kPatience{1000};
  State& log = TheLog();
  const std::lock_guard lock(log.mutex);
  return log.output.queue == nullptr || log.output.queue->Drain(kPatience);
}

std::uint64_t DroppedLogLines() { return TheLog().dropped.load(std::memory_order_relaxed); }

void RefillLog() {
  State& log = TheLog();
  const std::lock_guard lock(log.mutex);
  for (const auto& [kind, lines] : log.limiter.Refill()) {
    const LogField fields[] = {{"lines", lines}, {"of", kind}};
    WriteLine(LogLevel::kWarning, "more suppressed", fields);
  }
}

bool LogLimiter::Admit(std::string_view kind) {
  auto found = buckets_.find(kind);
  if (found == buckets_.end()) found = buckets_.emplace(kind, Bucket()).first;
  Bucket& bucket = found->second;
  if (bucket.tokens == 0) {
    ++bucket.suppressed;
    return false;
  }
  --bucket.tokens;
  return true;
}

std::vector<LogLimiter::Suppressed> LogLimiter::Refill() {
  std::vector<Suppressed> all;
  for (auto& [kind, bucket] : buckets_) {
    bucket.tokens = std::min(bucket.tokens + kRefill, kBurst);
    if (bucket.suppressed > 0) all.push_back({kind, std::exchange(bucket.suppressed, 0)});
  }
  return all;
}

}  // namespace gearstalk
