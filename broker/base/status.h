#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "broker/base/check.h"

namespace gearstalk {

// Every way in which an operation of the engine, the journal or the configuration can end.
// A protocol turns these into its own words in one function.
enum class Code : unsigned char {
  kOk,
  kNotFound,      // no such job, tube or function, or not held by the asker
  kNotIgnored,    // the last watched tube cannot be ignored
  kDraining,      // the broker takes no new jobs
  kQueueFull,     // maxqueue of the tube is reached
  kGroupFull,     // group_max_jobs of the tube is reached
  kGroupMissing,  // the tube takes no jobs without a group
  kOutOfMemory,   // memory limit reached
  kTooManyTubes,  // there are as many tubes as allowed
  kInUse,         // the function still has workers or jobs
  kJournal,       // the journal cannot make the change durable
  kDiskLow,       // too little of the journal's disk is free for new jobs
  kInvalid,       // bad value; the message says which
  kIo,            // a system call failed; the message says which and why
  kCorrupt,       // stored data is damaged; the message says where
};
inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCorrupt) + 1;

// A code with the words for a person. Used off the hot path; the engine's verbs return a Code.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) { GS_CHECK(!this->status().ok()); }

  bool ok() const { return std::holds_alternative<T>(state_); }
  const Status& status() const { return std::get<Status>(state_); }
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Status> state_;
};

// For a value that has not the form of `what`.
inline Status Expected(std::string_view what) {
  return {Code::kInvalid, "expected " + std::string(what)};
}

inline Status StatusOf(Status status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.ok() ? Status() : result.status();
}

inline void ValueOf(const Status& /*status*/) {}
template <typename T>
T ValueOf(Result<T> result) {
  return std::move(result.value());
}

}  // namespace gearstalk

// GS_TRY(CALL) is the value of a Result, and nothing for a Status. If that is an error, the
// function around it returns it. Write it as a statement or as all of what is assigned: GCC does
// not destroy the temporaries of an expression that is left halfway.
#define GS_TRY(...) GS_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define GS_TRY_COUNTED(count, ...) GS_TRY_NAMED(count, __VA_ARGS__)
#define GS_TRY_NAMED(count, ...)                                                         \
  __extension__({                                                                        \
    auto gs_tried_##count = __VA_ARGS__;                                                 \
    if (!gs_tried_##count.ok()) return gearstalk::StatusOf(std::move(gs_tried_##count)); \
    gearstalk::ValueOf(std::move(gs_tried_##count));                                     \
  })
