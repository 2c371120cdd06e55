// These types are internal to ChainStore; only its own files include them.
#pragma once

#include <memory>

#include "storage/contents/chain_store.h"

namespace storage {

// Current is what a record holds now. A raw row that deltas are based on has `head`; a stub has `chain_row`.
struct ChainStore::Current {
  const Table* table = nullptr;
  RecordRow::Form form = RecordRow::Form::raw;
  Stamp generation = 0;
  Bytes content;  // of a raw row, until a write takes it
  uint32_t checksum = 0;
  Bytes pre_states;       // RowPast
  bool behind = false;    // RowPast
  int64_t raw_bytes = 0;  // bytes of the content and the pre-states together
  std::optional<HeadRow> head;
  ChainKey key;        // of a stub
  ChainRow chain_row;  // of a stub
  // A stub's chain_row.payload points into these bytes; they don't move when this object does.
  std::unique_ptr<const Bytes> chain_bytes;

  RowPast past() const { return {pre_states, behind}; }
  uint64_t references() const { return form == RecordRow::Form::stub ? chain_row.references : head ? head->references : 0; }
  // Returns the chain that the content lies in, or that it will lie in once it leaves its record's row.
  RecordId chain(RecordId record) const { return form == RecordRow::Form::stub ? key.chain : head ? head->chain : record; }
};

// Turn describes what a write does to a record's pre-states.
struct ChainStore::Turn {
  Bytes in_row;           // the pre-states of the new row
  bool behind = false;    // RowPast of the new row
  bool in_place = false;  // the replaced content stays where it is: it is a delta in a chain
  // These fields describe the contents that leave the row together, if any do: the newest is whole, and `list` holds the older
  // ones.
  Stamp newest = 0;
  uint32_t checksum = 0;
  std::optional<Bytes> renewed;  // content of the newest; nullopt: it is the replaced content
  BytesView list;

  RowPast past() const { return {in_row, behind}; }
};

}  // namespace storage
