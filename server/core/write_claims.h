// While a client's transaction commits, the records that it has written are claimed, and the keys that its documents have in
// unique indexes: its draft, which kept others from writing them, is rolled back, and the changes are not made yet.
//
// A writer asks after it has written to the engine. If it wrote before the draft was rolled back, it has met the draft.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/record_id.h"

namespace server {

struct WriteClaim {
  storage::CollectionId collection = 0;
  storage::RecordId record = 0;  // or the hash of a key, with a sign that no record has (key_claims.h)
  bool operator==(const WriteClaim&) const = default;
};

// This class is thread-safe.
class WriteClaims {
 public:
  // Claims the records until the result is destroyed. Nobody else may have a claim on one of them: their writer had them for
  // itself.
  std::shared_ptr<void> claim(std::vector<WriteClaim> records);

  // Returns whether there are any claims. It costs a load.
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  // Returns whether somebody has claimed the record; a writer then acts as after a conflict.
  bool claimed(const WriteClaim& record) const { return any() && look(record); }

 private:
  struct Hash {
    size_t operator()(const WriteClaim& claim) const {
      return static_cast<size_t>((static_cast<uint64_t>(claim.record) ^ uint64_t{claim.collection} << 40) *
                                 0x9e3779b97f4a7c15ull);
    }
  };
  bool look(const WriteClaim& record) const;

  mutable base::Mutex mutex_;
  std::atomic<size_t> count_{0};
  std::unordered_set<WriteClaim, Hash> claimed_ GUARDED_BY(mutex_);
};

}  // namespace server
