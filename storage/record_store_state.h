// Inside a RecordStore; for the folder alone.
#pragma once

#include <atomic>
#include <mutex>

#include "storage/chain_store.h"
#include "storage/record_store.h"

namespace storage {

struct RecordStore::State {
  State(Engine& the_engine, CollectionId collection);

  Engine& engine;
  ChainStore chains;
  std::atomic<RecordId> next_id{record_id_min};

  // What reads met, for counters and for the garbage collector.
  void note_read(const ReadInfo& info, uint64_t micros, std::vector<ContentReader::Dead> dead);
  std::vector<ContentReader::Dead> take_dead();

  base::Histogram hops;
  base::Histogram decode_micros;
  std::atomic<uint32_t> hops_max{0};

  Bytes content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info);

 private:
  std::mutex mutex_;
  std::vector<ContentReader::Dead> dead_;  // bounded: a later read finds it again
};

}  // namespace storage
