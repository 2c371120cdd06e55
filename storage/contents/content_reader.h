// ContentReader reads contents out of a collection's tables, within one transaction. It connects the decoder to the stored
// rows.
#pragma once

#include <vector>

#include "base/clock.h"
#include "dedup/decoder.h"
#include "storage/contents/record_store.h"
#include "storage/contents/store_tables.h"

namespace storage {

// RowPlace is a record's row and the table that it lies in. The views in `row` are valid until the next call on `table`.
struct RowPlace {
  const Table* table = nullptr;
  RecordRow row;
};

// Returns nullopt when there is no such record. Throws DataCorruptionDetected when the row can't be read. With `likely_packed`
// it looks into the packed table first.
std::optional<RowPlace> find_row(const StoreTables& tables, Transaction& transaction, RecordId record,
                                 bool likely_packed = false);

// Returns nullopt also when the row can't be read, for callers that can go on without it.
std::optional<RowPlace> find_sound_row(const StoreTables& tables, Transaction& transaction, RecordId record);

// Throws DataCorruptionDetected with a message that names the collection and the record.
[[noreturn]] void throw_damaged(const StoreTables& tables, RecordId record, const std::string& what);

// A reader isn't thread-safe and lives within its transaction. Callers that read many contents should use one reader for all:
// the next content often lies right behind the last one, and so does its base.
class ContentReader : public dedup::FormSource {
 public:
  ContentReader(const StoreTables& tables, Transaction& transaction, CollectionId collection);

  // From this call on, reads of single contents begin at hop bases that other reads have decoded.
  void use_hop_bases() { hop_bases_ = true; }

  // Returns nullopt when the chain table has no row of this content.
  std::optional<base::Result<Bytes>> find(const ChainKey& key, ReadInfo* info = nullptr);
  // Finds the first kept row of the record's own chain with generation `oldest` or later. Its bytes are valid until the next
  // call.
  std::optional<std::pair<ChainKey, ChainRow>> find_kept(RecordId record, Stamp oldest);
  // Reads a content that has a row in the chain table, and decodes and verifies it.
  base::Result<Bytes> read(const ChainKey& key, ReadInfo* info = nullptr);

  // The last read passed these contents, which are kept only because others are based on them. Each comes with the content that
  // was reached through it. They are garbage and should be spliced out.
  struct Dead {
    ChainKey dead;
    ChainKey dependent;
  };
  const std::vector<Dead>& dead() const { return dead_; }

  base::Result<dedup::StoredForm> fetch_form(const dedup::ContentId& id) override;

 private:
  // A reader of several contents steps from row to row; it looks up a content that is read alone. A step passes the rows that
  // were written since the transaction's snapshot one by one, and dedup may have written any number of them. So a reader that
  // has met many such rows looks up every row from then on, which passes none.
  bool walks() const { return contents_ > 1 && !overtaken_; }
  // Reading the clock takes as long as a short step, so Walk times only one content in eight.
  class Walk {
   public:
    explicit Walk(ContentReader& reader) : reader_(reader), timed_(reader.contents_ % 8 == 2) {
      if (timed_) begun_us_ = reader_.clock_.monotonic_us();
    }
    ~Walk() {
      if (timed_) reader_.overtaken_ |= reader_.clock_.monotonic_us() - begun_us_ > longest_us;
    }

   private:
    static constexpr int64_t longest_us = 200;
    ContentReader& reader_;
    const bool timed_;
    int64_t begun_us_ = 0;
  };

  bool find_chain_row(const ChainKey& key);
  // Fails if the chain table is damaged there.
  base::Result<bool> try_chain_row(const ChainKey& key);
  base::Result<Bytes> decode(const ChainKey& key, ReadInfo* info);
  base::Result<Bytes> decode(const ChainKey& key, dedup::DecodeStats& stats, dedup::HopBaseCache* cache);
  bool walk_to(BytesView wanted);  // moves in the chain table
  std::optional<RecordRow> find_base(RecordId record);
  dedup::ContentId dedup_id(const ContentName& name) const { return {collection_, name.record, name.generation}; }

  const StoreTables& tables_;
  Transaction& transaction_;
  const base::Clock& clock_;
  CollectionId collection_;
  ChainKey next_;          // the place of the content that the next call reads
  ChainKey dependent_;     // the content that is based on it
  uint64_t contents_ = 0;  // the number of contents that were read so far
  bool overtaken_ = false;
  bool found_ = false;                  // the row of the content that is about to be read was found
  Bytes wanted_;                        // the key of a row in the chain table
  std::optional<TableCursor> cursor_;   // a cursor in the chain table
  std::optional<BytesView> chain_row_;  // the row that was found last
  bool stands_ = false;
  const Table* base_table_ = nullptr;  // the table of the last base
  std::optional<TableCursor> bases_;   // a cursor in base_table_, once a second base was read
  RecordId base_ = 0;                  // the record that bases_ stands on; 0: none
  bool hop_bases_ = false;
  bool lent_ = false;  // the content is a delta of another chain's content
  std::vector<Dead> dead_;
};

}  // namespace storage
