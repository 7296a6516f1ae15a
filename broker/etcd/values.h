#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/base/status.h"
#include "broker/replica/log_store.h"

namespace gearstalk::etcd {

// The values of the small keys, as JSON objects. Reading ignores members that it does not know.
std::string ToJson(const Reign& reign);
std::string ToJson(const ShardMeta& meta);
std::string StandbyJson(const Reign& standby);
std::string BeatJson(std::uint64_t epoch, std::uint64_t counter);
std::string TailJson(std::uint64_t last, std::uint64_t oldest);

// kCorrupt: the text is not such an object.
Status FromJson(std::string_view text, Reign& reign);
Status FromJson(std::string_view text, ShardMeta& meta);
Status TailFromJson(std::string_view text, std::uint64_t& last, std::uint64_t& oldest);

// What this version of etcd lacks that a journal needs; empty: nothing.
std::string LacksOf(const std::string& version);

}  // namespace gearstalk::etcd
