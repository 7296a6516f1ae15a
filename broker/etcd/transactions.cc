#include "broker/etcd/transactions.h"

#include "broker/base/split.h"
#include "broker/etcd/values.h"

namespace gearstalk::etcd {

const StoreWords kEtcdWords = {
    .name = "etcd",
    .within = "below",
    .shard = "prefix",
    .option = "etcd.prefix",
    .erase = "delete all keys below the prefix",
    .command = "etcdctl del --prefix",
    .backup = "snapshot",
    .make_room = "compact its history, defragment every node, then disarm the alarm"};

std::string EndOf(std::string prefix) {
  ++prefix.back();  // the prefix ends with '/'
  return prefix;
}

std::uint64_t SeqOf(std::string_view name) {
  if (!name.starts_with("j/") || name.size() != 18) return 0;
  std::uint64_t seq = 0;
  return ParseNumber(name.substr(2), seq, 16) ? seq : 0;
}

bool Parse(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok() || buffer.DumpToSingleSlice(&slice).ok()) {
    return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  return false;
}

void RequireMod(TxnRequest& txn, const std::string& key, Revision revision) {
  Compare& compare = *txn.add_compare();
  compare.set_target(Compare::MOD);
  compare.set_key(key);
  compare.set_mod_revision(revision);
}

void ThenPut(TxnRequest& txn, const std::string& key, const std::string& value) {
  PutRequest& put = *txn.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
}

void ThenDelete(TxnRequest& txn, const std::string& key) {
  txn.add_success()->mutable_request_delete_range()->set_key(key);
}

void ThenGet(TxnRequest& txn, const std::string& key) {
  txn.add_success()->mutable_request_range()->set_key(key);
}

void ElseGet(TxnRequest& txn, const std::string& key) {
  txn.add_failure()->mutable_request_range()->set_key(key);
}

const KeyValue* Found(const TxnResponse& response, int index) {
  if (index >= response.responses_size()) return nullptr;
  const ResponseOp& op = response.responses(index);
  return op.has_response_range() && op.response_range().kvs_size() > 0 ? &op.response_range().kvs(0)
                                                                       : nullptr;
}

Status ReadView(const TxnResponse& response, std::string_view prefix, LogView& view) {
  view.at = response.header().revision();
  for (int i = 0; i < response.responses_size(); ++i) {
    const KeyValue* kv = Found(response, i);
    if (kv == nullptr) continue;
    const std::string_view name = std::string_view(kv->key()).substr(prefix.size());
    Status read;
    if (name == "leader") {
      view.leader_at = kv->mod_revision();
      read = FromJson(kv->value(), view.leader);
    } else if (name == "beat") {
      view.beat_at = kv->mod_revision();
    } else if (name == "standby") {
      view.standby_at = kv->mod_revision();
    } else if (name == "tail") {
      view.tail_at = kv->mod_revision();
      read = TailFromJson(kv->value(), view.last, view.oldest);
    } else if (name == "meta") {
      view.meta_at = kv->mod_revision();
      read = FromJson(kv->value(), view.meta);
    }
    if (!read.ok()) return {read.code(), std::string(prefix) + read.message()};
  }
  return {};
}

}  // namespace gearstalk::etcd
