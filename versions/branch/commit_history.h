// A CommitHistory keeps which records each committed state of a collection shows, as deltas between commits.
//
// A state is kept as the XOR of its set with its parent's (Decibel §3.2). Every 16th state of a line also has a delta over 16
// steps, every 256th one over 256, and so on, so that O(log) rows make up a state however long its history is:
//
//   depth   1  2  3 ... 15  16  17 ...        layer 0: a step
//                         +--->               layer 1: 16 steps
//
// States make a tree: a branch begins by having another line's state as its parent, which copies nothing. The same rows say in
// which segments a state has anything, as one segment more: the branch-segment bitmap (§3.4).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "storage/engine/table.h"
#include "versions/branch/record_set.h"

namespace versions {

using storage::Table;
using storage::Transaction;

// The number of the commit after which a collection looks so; 0: it is empty, before all commits.
using State = uint64_t;

// A LivePart is what a state shows of one segment: an older state's bitmap, which is shared, and what changed since.
struct LivePart {
  std::shared_ptr<const Bitmap> base;
  std::shared_ptr<const Bitmap> changed;

  bool contains(uint32_t offset) const { return base->contains(offset) != changed->contains(offset); }
  uint32_t maximum() const;  // no offset in the part is higher
  uint64_t count() const;
  Bitmap whole() const { return *base ^ *changed; }
};

// Thread-safe; transactions are not. Reads throw DataCorruptionDetected for rows that are damaged or missing.
class CommitHistory {
 public:
  explicit CommitHistory(Table table, size_t cache_bytes = 16 << 20);

  // `changed` has the records that one of the two states shows and the other doesn't. `state` is higher than `parent`, and new.
  void append(Transaction& transaction, State state, State parent, const RecordSet& changed);

  std::shared_ptr<const RecordSet> whole(Transaction& transaction, State state);
  LivePart part(Transaction& transaction, State state, Segment segment);
  // Returns whether the state has a record in the segment, by the branch-segment bitmap.
  bool has_any(Transaction& transaction, State state, Segment segment);
  // The records that one state has and the other hasn't. The cost depends on the steps between them, not on their sizes.
  RecordSet between(Transaction& transaction, State a, State b);
  // The first state of this state's line: its parent is 0.
  State first_of(Transaction& transaction, State state) const;

  // --- for a repair (mended_states.h), while nobody else uses the table
  struct Row {
    unsigned layer = 0;
    uint64_t depth = 0;  // of the state
    State target = 0;    // the state that the row's set is the XOR with
    bool operator==(const Row&) const = default;
  };
  // The rows that can be read, by their state and then by layer. `interrupted` is called at each row, and may throw.
  std::map<State, std::vector<Row>> rows(Transaction& transaction, const std::function<void()>& interrupted) const;
  RecordSet changed(Transaction& transaction, State state, unsigned layer) const;
  // Returns how many rows a state of this depth has.
  static unsigned rows_at(uint64_t depth) { return layer_at(depth) + 1; }
  static constexpr uint64_t steps_of_layer = 16;  // a row's target is so many targets of the layer below away
  // Writes the state's rows anew, and returns them. Those of the parent and of all its ancestors must be there.
  std::vector<Row> replace(Transaction& transaction, State state, State parent, const RecordSet& changed);

 private:
  static constexpr unsigned fan_in_bits = 4;
  static_assert(steps_of_layer == 1 << fan_in_bits);
  static constexpr unsigned layers_max = 8;  // enough for more than 2^32 steps

  struct Step {
    uint64_t depth = 0;  // the depth of the state that was left
    State target = 0;
  };
  // Takes from a row all but the set; nullopt: the row is damaged.
  static std::optional<Step> take_step(State state, BytesView& row);
  // Calls `read` with the bytes of the set in the state's row of that layer.
  template <class Read>
  Step step(Transaction& transaction, State state, unsigned layer, Read&& read) const;
  uint64_t depth(Transaction& transaction, State state) const;
  static unsigned layer_at(uint64_t depth);
  static uint64_t steps(unsigned layer) { return uint64_t{1} << (fan_in_bits * layer); }
  void put(Transaction& transaction, State state, unsigned layer, const Step& step, const RecordSet& changed);
  std::optional<LivePart> cached(State state, Segment segment);
  LivePart keep(State state, Segment segment, const LivePart& base, Bitmap changed);

  struct PartKey {
    State state;
    Segment segment;
    bool operator==(const PartKey&) const = default;
  };
  struct PartHash {
    size_t operator()(const PartKey& key) const {
      return (key.state * 0x9e3779b97f4a7c15ull) ^ (key.segment * 0xc2b2ae3d27d4eb4full);
    }
  };

  Table table_;
  base::Mutex mutex_;
  base::Lru<PartKey, LivePart, PartHash> parts_ GUARDED_BY(mutex_);
  base::Lru<State, std::shared_ptr<const RecordSet>> wholes_ GUARDED_BY(mutex_);
};

}  // namespace versions
