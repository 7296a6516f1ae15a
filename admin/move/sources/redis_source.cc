#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "admin/move/sources/database_url.h"
#include "admin/move/sources/table_source.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

std::string_view TextOf(const redisReply& reply) { return {reply.str, reply.len}; }

class RedisSource final : public TableSource {
 public:
  RedisSource(DatabaseUrl url, const SourceOptions& options)
      : TableSource(options), url_(std::move(url)) {}
  ~RedisSource() override { redisFree(redis_); }

  Status Open() override {
    redis_ = redisConnect(url_.host.c_str(), static_cast<int>(url_.port));
    if (redis_ == nullptr || redis_->err != 0) return Failed(nullptr);
    std::vector<std::string> login = {"AUTH"};
    if (!url_.user.empty()) login.push_back(url_.user);
    login.push_back(url_.password);
    if (!url_.password.empty()) {
      if (const Reply reply = Ask(login); Bad(reply)) return Failed(reply.get());
    }
    const Reply reply = Ask({"SELECT", url_.rest.empty() ? "0" : url_.rest});
    return Bad(reply) ? Failed(reply.get()) : Status();
  }

  std::string Name() const override {
    return fmt::format("redis:{}/{}/{}", url_.Place(), url_.rest.empty() ? "0" : url_.rest,
                       options().prefix);
  }

 protected:
  Status ReadRows(const VisitRow& visit) override {
    std::vector<std::string> keys;
    GS_TRY(FindKeys(keys));
    for (const std::string& key : keys) GS_TRY(ReadKey(key, visit));
    return {};
  }

 private:
  Reply Ask(const std::vector<std::string>& words) {
    std::vector<const char*> data;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      data.push_back(word.data());
      sizes.push_back(word.size());
    }
    void* const reply =
        redisCommandArgv(redis_, static_cast<int>(words.size()), data.data(), sizes.data());
    return {static_cast<redisReply*>(reply), freeReplyObject};
  }

  static bool Bad(const Reply& reply) {
    return reply == nullptr || reply->type == REDIS_REPLY_ERROR;
  }

  static bool IsOtherType(const Reply& reply) {
    return reply != nullptr && reply->type == REDIS_REPLY_ERROR &&
           TextOf(*reply).starts_with("WRONGTYPE");
  }

  Status Failed(const redisReply* reply) const {
    const std::string why = reply != nullptr    ? std::string(TextOf(*reply))
                            : redis_ != nullptr ? redis_->errstr
                                                : "no memory";
    return {Code::kIo, Name() + ": " + why};
  }

  Status FindKeys(std::vector<std::string>& keys) {
    std::string cursor = "0", pattern;
    for (const char c : options().prefix) {
      if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
    do {
      const Reply reply = Ask({"SCAN", cursor, "MATCH", pattern + "-*", "COUNT", "1000"});
      if (Bad(reply) || reply->elements != 2) return Failed(reply.get());
      cursor = TextOf(*reply->element[0]);
      const redisReply& found = *reply->element[1];
      for (std::size_t i = 0; i < found.elements; ++i) keys.emplace_back(TextOf(*found.element[i]));
    } while (cursor != "0");
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return {};
  }

  // FUNCTION-UNIQUE; the longest function that was named wins.
  void Split(std::string_view rest, Row& row) {
    std::string_view function;
    for (const std::string& each : options().functions) {
      const bool fits = rest.starts_with(each) && rest.substr(each.size()).starts_with('-');
      if (fits && each.size() > function.size()) function = each;
    }
    if (function.empty()) {
      const std::size_t hyphen = rest.find('-');
      if (hyphen == std::string_view::npos) return;
      function = rest.substr(0, hyphen);
      if (rest.find('-', hyphen + 1) != std::string_view::npos) {
        AddNote({"guess", std::string(rest),
                 fmt::format("split at the first hyphen: function '{}'; name it with --function",
                             function)});
      }
    }
    row.function = function;
    std::string_view unique = rest.substr(function.size() + 1);
    // A key of 64 bytes is stored as a blank and 63 bytes.
    if (unique.size() == 64 && unique.front() == ' ') unique.remove_prefix(1);
    row.unique = unique;
  }

  Status ReadKey(const std::string& key, const VisitRow& visit) {
    Row row;
    Split(std::string_view(key).substr(options().prefix.size() + 1), row);
    Reply values = Ask({"HMGET", key, "data", "priority"});
    if (IsOtherType(values)) {
      // Before gearmand 1.1.16: a string.
      values = Ask({"GET", key});
      if (IsOtherType(values)) {
        row.refused = "neither a hash nor a string";
        return visit(row);
      }
      if (Bad(values)) return Failed(values.get());
      if (values->type != REDIS_REPLY_STRING) return {};
      row.data = TextOf(*values);
      row.priority = 1;
      return visit(row);
    }
    if (Bad(values) || values->elements != 2) return Failed(values.get());
    const redisReply& data = *values->element[0];
    const redisReply& priority = *values->element[1];
    if (data.type == REDIS_REPLY_STRING) row.data = TextOf(data);
    if (priority.type == REDIS_REPLY_STRING) row.priority = NumberIn(TextOf(priority));
    return visit(row);
  }

  const DatabaseUrl url_;
  redisContext* redis_ = nullptr;
};

Result<std::unique_ptr<Source>> OpenRedis(const std::string& rest, const SourceOptions& options) {
  DatabaseUrl url = GS_TRY(DatabaseUrl::Parse(rest));
  if (url.rest.find_first_not_of("0123456789") != std::string::npos) {
    return Status(Code::kInvalid, "redis: expected redis://[[USER]:PW@]HOST[:PORT]/N");
  }
  if (url.port == 0) url.port = 6379;
  return std::unique_ptr<Source>(std::make_unique<RedisSource>(std::move(url), options));
}

}  // namespace

const SourceMaker gearstalk_open_source = OpenRedis;

}  // namespace gearstalk::ctl
