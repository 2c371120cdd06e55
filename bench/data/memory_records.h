// A replay without a server keeps its contents here: whole or as the encoder advised, in memory, with every write-back applied at
// once.
#pragma once

#include <map>
#include <vector>

#include "dedup/decoder.h"
#include "dedup/encoder.h"
#include "dedup/memory_pages.h"

namespace bench {

using base::Bytes;
using base::BytesView;

// Contents are named {collection, record 0, 1, 2 …, generation 1}; records count over all collections. Not thread-safe.
class MemoryRecords : public dedup::RecordSource, public dedup::FormSource {
 public:
  static dedup::ContentId name(uint32_t collection, int64_t record) { return {collection, record, 1}; }

  void insert(int64_t record, BytesView content);
  void write_back(const dedup::Backward& backward);

  base::Result<dedup::StoredForm> fetch_form(const dedup::ContentId& id) override;
  std::optional<Bytes> fetch(const dedup::ContentId& id) override;

  // Returns how many deltas lie between `record` and the content that is kept whole.
  uint32_t hops(int64_t record) const;

  uint64_t stored_bytes() const;
  // Returns the bytes of 32 KB blocks of records, one after another and each compressed alone.
  enum class Block { snappy, zstd };
  uint64_t block_bytes(Block method, size_t block_bytes = 32 << 10) const;

  const std::vector<dedup::StoredForm>& forms() const { return forms_; }
  uint64_t fetches() const { return fetches_; }
  double fetch_cpu_seconds() const { return fetch_seconds_; }

 private:
  std::vector<dedup::StoredForm> forms_;
  uint64_t fetches_ = 0;
  double fetch_seconds_ = 0;
};

using dedup::MemoryPages;

}  // namespace bench
