#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/etcd/etcd.pb.h"
#include "broker/replica/log_store.h"

namespace gearstalk::etcd {

// Makes requests over the keys of one shard, and reads their responses. Pure.

extern const StoreWords kEtcdWords;

// The end of the range of all keys that begin with `prefix`.
std::string EndOf(std::string prefix);
// The sequence number of a key "j/" with 16 hex digits; 0 for other names.
std::uint64_t SeqOf(std::string_view name);
bool Parse(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

// Adds to a transaction.
void RequireMod(TxnRequest& txn, const std::string& key, Revision revision);
void ThenPut(TxnRequest& txn, const std::string& key, const std::string& value);
void ThenDelete(TxnRequest& txn, const std::string& key);
void ThenGet(TxnRequest& txn, const std::string& key);
void ElseGet(TxnRequest& txn, const std::string& key);

// The key that the `index`th response holds; nullptr: it is not there.
const KeyValue* Found(const TxnResponse& response, int index);
// Fills in what the responses hold, whichever they are. An error names the key.
Status ReadView(const TxnResponse& response, std::string_view prefix, LogView& view);

}  // namespace gearstalk::etcd
