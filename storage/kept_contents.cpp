#include "storage/kept_contents.h"

#include "storage/record_store_state.h"

namespace storage {

KeptContents::KeptContents(RecordStore& store, Transaction& transaction)
    : chains_(store.state().chains), reader_(chains_.tables(), transaction, chains_.collection()) {}

std::optional<Bytes> KeptContents::find(RecordId id, Stamp generation, RecordId chain, ReadInfo* info) {
  return chains_.find_in(reader_, {chain, {id, generation}}, info);
}

}  // namespace storage
