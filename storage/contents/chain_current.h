// Inside a ChainStore; for its own files alone.
#pragma once

#include <memory>

#include "storage/contents/chain_store.h"

namespace storage {

// What a record holds now. `head` for a raw row that has one, `chain_row` for a stub.
struct ChainStore::Current {
  const Table* table = nullptr;
  RecordRow::Form form = RecordRow::Form::raw;
  Stamp generation = 0;
  Bytes content;  // raw; until a write takes it
  uint32_t checksum = 0;
  Bytes pre_states;       // RowPast
  bool behind = false;    // RowPast
  int64_t raw_bytes = 0;  // of both
  std::optional<HeadRow> head;
  ChainKey key;                              // stub
  ChainRow chain_row;                        // stub
  std::unique_ptr<const Bytes> chain_bytes;  // stub: keeps chain_row.payload's bytes, which don't move when this does

  RowPast past() const { return {pre_states, behind}; }
  uint64_t references() const { return form == RecordRow::Form::stub ? chain_row.references : head ? head->references : 0; }
  // Where it lies, or would once it leaves its record's row.
  RecordId chain(RecordId record) const { return form == RecordRow::Form::stub ? key.chain : head ? head->chain : record; }
};

// What a write does to a record's pre-states.
struct ChainStore::Turn {
  Bytes in_row;           // those of the new row
  bool behind = false;    // RowPast of the new row
  bool in_place = false;  // the replaced content is kept where it is, a delta in a chain
  // What leaves the row together, where something does: the newest, whole, and those before it.
  Stamp newest = 0;
  uint32_t checksum = 0;
  std::optional<Bytes> renewed;  // its content; nullopt: it is the one that was replaced
  BytesView list;

  RowPast past() const { return {in_row, behind}; }
};

}  // namespace storage
