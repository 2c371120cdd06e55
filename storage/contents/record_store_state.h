// State is internal to RecordStore; only this folder uses it.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "storage/contents/chain_store.h"
#include "storage/contents/read_marks.h"
#include "storage/contents/record_store.h"

namespace storage {

struct RecordStore::State {
  State(Contents& contents, CollectionId collection, const std::string& profile);

  Engine& engine;
  ChainStore chains;
  std::atomic<RecordId> next_id{record_id_min};

  // Reads report here what they met, for counters and for the garbage collector.
  void note_read(const ReadInfo& info, uint64_t micros, std::vector<ContentReader::Dead> dead);
  bool has_dead();
  std::vector<ContentReader::Dead> take_dead();

  base::Histogram hops;
  base::Histogram decode_micros;
  std::atomic<uint32_t> hops_max{0};

  // Clients and the background share these fields.
  std::atomic<bool> tracked{false};  // the background knows the collection
  // From this record on the background reads the records itself, and clients needn't queue them; `not_behind`: clients queue
  // everything.
  static constexpr RecordId not_behind = INT64_MAX;
  std::atomic<RecordId> behind_from{not_behind};
  bool behind() const { return behind_from.load(std::memory_order_relaxed) != not_behind; }
  void fall_behind(RecordId record) {
    RecordId before = behind_from.load(std::memory_order_relaxed);
    while (record < before && !behind_from.compare_exchange_weak(before, record, std::memory_order_relaxed)) {
    }
  }

  // Updates with this generation or a later one were not queued, and the background won't meet them as it reads on; a pass over
  // all records looks for them.
  static constexpr Stamp none_missed = UINT64_MAX;
  std::atomic<Stamp> missed_from{none_missed};
  void miss(Stamp generation) {
    Stamp before = missed_from.load(std::memory_order_relaxed);
    while (generation < before && !missed_from.compare_exchange_weak(before, generation, std::memory_order_relaxed)) {
    }
  }

  // Only reads of single records are marked: a scan passes over everything and says nothing about which records will be wanted
  // again.
  ReadMarks reads;
  ReadHints demoted_reads;                        // heads that are stored as deltas of others
  std::atomic<uint64_t> demoted{0}, promoted{0};  // counts of heads since the start

  // RecordStore::generation_not_after describes this call.
  std::optional<Stamp> generation_not_after(RecordId record, const RecordRow& row, Stamp newest) const;

  // A scan, which reads many contents, passes its `reader`; a single read passes nullptr.
  Bytes content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info,
                   ContentReader* reader = nullptr);

 private:
  base::Mutex mutex_;
  std::vector<ContentReader::Dead> dead_ GUARDED_BY(mutex_);  // bounded: a later read finds a forgotten one again
};

}  // namespace storage
