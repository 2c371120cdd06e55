// How often collections are used and how long that takes, by name: what `top` and $collStats {latencyStats} tell.
//
//   record("shop", "orders", …)  ->  shard by the name's hash  ->  a few additions under a lock held for nanoseconds
//
// A name stands for one collection: once that was dropped, another one of the name begins at zero.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/latency_histogram.h"

namespace storage {
class Catalog;
}

namespace server {

// The id of the collection that has the name "shop.orders" now; 0: none, or its branch isn't there. Never throws OperationError.
uint32_t collection_named(const storage::Catalog& catalog, std::string_view ns);

// Thread-safe.
class CollectionUsage {
 public:
  // What an operation does, as `top` sorts it.
  enum class Kind { query, get_more, insert, update, remove, bulk_write, read_command, write_command, other_command };
  static constexpr size_t kinds = 9;
  // Which latency it belongs to.
  enum class Latency { read, write, command };
  static constexpr size_t latencies = 3;

  struct Timing {
    int64_t us = 0;
    int64_t count = 0;
  };
  struct Scans {
    int64_t total = 0;         // reads that looked at the whole collection
    int64_t non_tailable = 0;  // of those, the ones that ended
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
    bool scan = false;      // a scan of the whole collection
    bool tailable = false;  // that waits for more at its end
  };

  // `collection`: the id of the collection that has the name now. True: there are many names by now, and forget() is due.
  bool record(std::string_view db, std::string_view name, uint32_t collection, const Use& use);

  // Of the collection that has the name now; nullopt: nobody used it.
  std::optional<Figures> of(std::string_view db, std::string_view name, uint32_t collection) const;

  // The collection that has the name "shop.orders" now; 0: none.
  using Lookup = std::function<uint32_t(std::string_view ns)>;
  // Of all there are, in the order of their names.
  std::vector<std::pair<std::string, Figures>> all(const Lookup& now) const;
  // Forgets collections that are gone.
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
    mutable std::mutex mutex;
    std::unordered_map<std::string, std::unique_ptr<Entry>, Hash, Equal> entries;
    size_t names_max = names_few;  // more: forget() is due
  };
  Shard& shard_of(const Name& name) { return shards_[Hash{}(name) % shards]; }
  const Shard& shard_of(const Name& name) const { return shards_[Hash{}(name) % shards]; }

  std::array<Shard, shards> shards_;
};

}  // namespace server
