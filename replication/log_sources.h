// The contents that came lately, as deltas in the set's log are made from: each
// is the newest of its document as of the last entry that went by.
//
//   key (collection, _id) ----+
//   timestamp ----------------+--> content, newest first; beyond the budget the least recently used goes
//   features (dedup/sketch.h) +
//
// A primary fills it with what it proposes, every member with what it applies, so
// that whoever takes over has it too. What a near copy has followed makes room
// (dbDedup, Algorithm 3). Sketches are made where something is looked for.
#pragma once

#include <atomic>
#include <list>
#include <unordered_map>
#include <vector>

#include "dedup/sketch.h"
#include "replication/log_record.h"

namespace replication {

// This class is not thread-safe. What `find` gives is valid until something is put.
class LogSources {
 public:
  explicit LogSources(size_t bytes_max);

  struct Content {
    storage::Stamp stamp = 0;  // of its own entry
    Bytes key;
    Bytes bytes;
    dedup::Features features;  // as far as it is sketched
    bool sketched = false;
    bson::DocumentView document() const { return bson::DocumentView(bytes); }
  };

  // The key of a document is its collection and _id, by value.
  static Bytes key_of(BytesView uuid, const bson::ValueView& id);
  const Content* find(const Bytes& key);
  const Content* find(storage::Stamp stamp);
  // Those that share the most features, best first, the newest of equals: `count` at most. Of another collection only by chance.
  std::vector<const Content*> find_similar(const dedup::Features& features, size_t count);
  dedup::Features sketch(BytesView uuid, BytesView content) const;

  // The document is this now. `features`: where they are known.
  void put(Bytes key, storage::Stamp stamp, BytesView content, const dedup::Features* features = nullptr);
  void forget(const Bytes& key);
  void clear();
  // Everything can be found by its features from now on.
  void sketch_all();

  size_t bytes() const { return bytes_; }

 private:
  using Place = std::list<Content>::iterator;
  static constexpr size_t uuid_bytes = 16;
  static constexpr size_t matches_max = 4;  // of one feature; the newest
  static size_t cost(const Content& content);
  const Content* used(Place place);
  void index(Place place);
  void erase(Place place);

  const size_t bytes_max_;
  const dedup::Sketcher sketcher_;
  size_t bytes_ = 0;
  std::list<Content> contents_;  // the most recently used first
  std::unordered_map<Bytes, Place> by_key_;
  std::unordered_map<storage::Stamp, Place> by_stamp_;
  std::unordered_map<uint32_t, std::array<storage::Stamp, matches_max>> by_feature_;  // newest first; 0: none
};

}  // namespace replication
