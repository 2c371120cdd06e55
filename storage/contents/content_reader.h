// Reads contents out of a collection's tables, within one transaction: the plug
// between the decoder and what is stored.
#pragma once

#include <chrono>
#include <vector>

#include "dedup/decoder.h"
#include "storage/contents/record_store.h"
#include "storage/contents/store_tables.h"

namespace storage {

// A record's row where it lies. The views in `row` are valid until the next call on `table`.
struct RowPlace {
  const Table* table = nullptr;
  RecordRow row;
};

// nullopt: no such record. Throws DataCorruptionDetected where the row can't be read.
// `likely_packed`: look there first.
std::optional<RowPlace> find_row(const StoreTables& tables, Transaction& transaction, RecordId record,
                                 bool likely_packed = false);

// nullopt, too, where the row can't be read: who asks goes on without it.
std::optional<RowPlace> find_sound_row(const StoreTables& tables, Transaction& transaction, RecordId record);

// Throws DataCorruptionDetected, naming collection and record.
[[noreturn]] void throw_damaged(CollectionId collection, RecordId record, const std::string& what);

// Not thread-safe; lives within its transaction. Who reads many contents reads them with one reader: what comes next often lies
// right behind what came before, among the deltas and among what they are based on.
class ContentReader : public dedup::FormSource {
 public:
  ContentReader(const StoreTables& tables, Transaction& transaction, CollectionId collection)
      : tables_(tables), transaction_(transaction), collection_(collection) {}

  // Reads of single contents, from here on, begin at hop bases that others came through.
  void use_hop_bases() { hop_bases_ = true; }

  // nullopt: the chain table has no row of it.
  std::optional<base::Result<Bytes>> find(const ChainKey& key, ReadInfo* info = nullptr);
  // The first row from generation `oldest` on of the record's own chain that is kept. Its bytes are valid until the next call.
  std::optional<std::pair<ChainKey, ChainRow>> find_kept(RecordId record, Stamp oldest);
  // A content that has a row in the chain table, decoded and verified.
  base::Result<Bytes> read(const ChainKey& key, ReadInfo* info = nullptr);

  // Contents on the way of the last read that are kept for others alone, each
  // with the content that was reached through it: garbage to be spliced out.
  struct Dead {
    ChainKey dead;
    ChainKey dependent;
  };
  const std::vector<Dead>& dead() const { return dead_; }

  base::Result<dedup::StoredForm> fetch_form(const dedup::ContentId& id) override;

 private:
  // Who reads several contents steps from row to row, one that is read alone is looked up. A step passes the rows that came since
  // the transaction's snapshot one by one, and dedup may have made any number of them: who has met many looks up each row from
  // then on, which passes none.
  bool walks() const { return contents_ > 1 && !overtaken_; }
  // To look at the clock takes as long as a short step: one content in eight is timed.
  class Walk {
   public:
    explicit Walk(ContentReader& reader) : reader_(reader), timed_(reader.contents_ % 8 == 2) {
      if (timed_) begun_ = std::chrono::steady_clock::now();
    }
    ~Walk() {
      if (timed_) reader_.overtaken_ |= std::chrono::steady_clock::now() - begun_ > longest;
    }

   private:
    static constexpr std::chrono::microseconds longest{200};
    ContentReader& reader_;
    const bool timed_;
    std::chrono::steady_clock::time_point begun_;
  };

  bool find_chain_row(const ChainKey& key);
  base::Result<Bytes> decode(const ChainKey& key, ReadInfo* info);
  base::Result<Bytes> decode(const ChainKey& key, dedup::DecodeStats& stats, dedup::HopBaseCache* cache);
  bool walk_to(BytesView wanted);  // in the chain table
  std::optional<RecordRow> find_base(RecordId record);
  dedup::ContentId dedup_id(const ContentName& name) const { return {collection_, name.record, name.generation}; }

  const StoreTables& tables_;
  Transaction& transaction_;
  CollectionId collection_;
  ChainKey next_;          // where the content asked for next lies
  ChainKey dependent_;     // and who asks
  uint64_t contents_ = 0;  // that were asked for
  bool overtaken_ = false;
  bool found_ = false;                  // the row of what is about to be read
  Bytes wanted_;                        // the key of a row in the chain table
  std::optional<TableCursor> cursor_;   // in that table
  std::optional<BytesView> chain_row_;  // that was found last
  bool stands_ = false;
  const Table* base_table_ = nullptr;  // the last base lay there
  std::optional<TableCursor> bases_;   // in that table, once there was a second
  RecordId base_ = 0;                  // where it stands; 0: nowhere
  bool hop_bases_ = false;
  bool lent_ = false;  // what was asked for is a delta of another chain's
  std::vector<Dead> dead_;
};

}  // namespace storage
