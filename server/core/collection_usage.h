// CollectionUsage counts, by name, how often collections are used and how long that takes. `top` and $collStats {latencyStats}
// show it.
//
//   record("shop", "orders", …)  ->  shard by the name's hash  ->  a few additions under a lock held for nanoseconds
//
// A name stands for one collection: if that is dropped, another one of the name begins at zero.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "server/core/latency_histogram.h"

namespace storage {
class Catalog;
}

namespace server {

// Returns the id of the collection that has the name "shop.orders" now; 0: there is none, or its branch doesn't exist. Never
// throws OperationError.
uint32_t collection_named(const storage::Catalog& catalog, std::string_view ns);

// This class is thread-safe.
class CollectionUsage {
 public:
  // Kind is the kind of operation as `top` groups them.
  enum class Kind { query, get_more, insert, update, remove, bulk_write, read_command, write_command, other_command };
  static constexpr size_t kinds = 9;
  // Latency says which of latencyStats' groups the operation belongs to.
  enum class Latency { read, write, command };
  static constexpr size_t latencies = 3;

  struct Timing {
    int64_t us = 0;
    int64_t count = 0;
  };
  struct Scans {
    int64_t total = 0;         // reads that scanned the whole collection
    int64_t non_tailable = 0;  // those of them whose cursor isn't tailable
  };
  struct Figures {
    std::array<Timing, kinds> by_kind;
    std::array<LatencyHistogram, latencies> by_latency;
    Scans scans;
  };
  struct Use {
    Kind kind;
    Latency latency;
    int64_t us = 0;
    bool scan = false;      // it scanned the whole collection
    bool tailable = false;  // its cursor waits for more at the end
  };

  // `collection` is the id of the collection that has the name now. Returns true when there are so many names that forget() is
  // due.
  bool record(std::string_view db, std::string_view name, uint32_t collection, const Use& use);

  // Returns the figures of the collection that has the name now; nullopt: nobody used it.
  std::optional<Figures> of(std::string_view db, std::string_view name, uint32_t collection) const;

  // A Lookup returns the id of the collection that has the name "shop.orders" now; 0: there is none.
  using Lookup = std::function<uint32_t(std::string_view ns)>;
  // Returns the figures of all collections that exist, in the order of their names.
  std::vector<std::pair<std::string, Figures>> all(const Lookup& now) const;
  // Forgets collections that no longer exist.
  void forget(const Lookup& now);

 private:
  static constexpr size_t shards = 16;
  static constexpr size_t names_few = 64;  // in a shard

  struct Name {
    std::string_view db, collection;
  };
  static Name split(std::string_view ns);
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Name& name) const;
    size_t operator()(std::string_view ns) const { return (*this)(split(ns)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
    bool operator()(const Name& a, std::string_view b) const;
    bool operator()(std::string_view a, const Name& b) const { return (*this)(b, a); }
  };
  struct Entry {
    uint32_t collection = 0;
    Figures figures;
  };
  struct Shard {
    mutable base::Mutex mutex;
    std::unordered_map<std::string, std::unique_ptr<Entry>, Hash, Equal> entries GUARDED_BY(mutex);
    size_t names_max GUARDED_BY(mutex) = names_few;  // with more names, forget() is due
  };
  Shard& shard_of(const Name& name) { return shards_[Hash{}(name) % shards]; }
  const Shard& shard_of(const Name& name) const { return shards_[Hash{}(name) % shards]; }

  std::array<Shard, shards> shards_;
};

}  // namespace server
