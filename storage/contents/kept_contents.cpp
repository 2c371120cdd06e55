#include "storage/contents/kept_contents.h"

#include "storage/contents/record_store_state.h"

namespace storage {

KeptContents::KeptContents(RecordStore& store, Transaction& transaction)
    : chains_(store.state().chains), reader_(chains_.tables(), transaction, chains_.collection()) {}

bool KeptContents::find_newest(RecordId id, Stamp oldest, Stamp newest, Bytes& content, ReadInfo* info) {
  return chains_.read_kept(reader_, id, oldest, newest, &content, info) != 0;
}

Stamp KeptContents::newest(RecordId id, Stamp oldest, Stamp newest) {
  return chains_.read_kept(reader_, id, oldest, newest, nullptr, nullptr);
}

std::optional<Bytes> KeptContents::find(RecordId id, Stamp generation, RecordId chain, ReadInfo* info) {
  return chains_.find_in(reader_, {chain, {id, generation}}, info);
}

}  // namespace storage
