// The metadata log keeps what is needed to know a content again: its name, its
// place in its chain and its features. The feature index points into it.
//
//   page    64 KB of entries, each relative to the one before (metadata_page.h)
//   pointer page number (upper 20 bits) and slot in the page (lower 12)
//
// Only contents that are the newest of their chain are worth a place on disk. An
// entry that was superseded is still found while its page stays in memory (a
// revert likes to meet it), but is not written; a page with few live entries
// gives them to the open page and is erased.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dedup/sketch.h"

namespace dedup {

// The caller implements this: a numbered set of pages. Losing pages loses compression, never data.
class MetadataStore {
 public:
  virtual ~MetadataStore() = default;
  virtual std::optional<Bytes> read_page(uint32_t page) = 0;
  virtual void write_page(uint32_t page, BytesView bytes) = 0;
  virtual void erase_page(uint32_t page) = 0;
  virtual std::vector<uint32_t> pages() = 0;
};

using MetadataPointer = uint32_t;  // never 0

struct Metadata {
  ContentId id;
  Placement placement;
  Features features;  // the lineage's comes first, if it has one
  bool has_lineage = false;
  uint8_t demoted_below = 0;         // heads that stand on each other on top of it
  uint32_t delta_bytes = 0;          // of the delta that it is kept as, a demoted head; 0: it is whole
  std::vector<ContentId> hop_bases;  // the chain's latest hop base of each level, from level 1 up
};

// The log isn't thread-safe. Pointers stay valid until the entry is moved or dropped; a pointer to nothing is an expected case
// everywhere.
class MetadataLog {
 public:
  MetadataLog(MetadataStore& store, size_t cache_bytes_max);
  ~MetadataLog();

  // Returns an entry where it lies; it is valid until the next call.
  struct Entry {
    ContentId id;
    Placement placement;
    std::span<const uint32_t> features;
    std::span<const ContentId> hop_bases;
    bool has_lineage;
    uint8_t demoted_below;
    bool superseded;       // not kept on disk
    uint32_t delta_bytes;  // its bytes, if it is a delta by now: superseded, or a demoted head; 0: it is whole

    bool has(uint32_t feature) const {
      for (const uint32_t one : features)
        if (one == feature) return true;
      return false;
    }
    uint32_t lineage() const { return has_lineage ? features[0] : 0; }
  };

  MetadataPointer append(const Metadata& entry);
  std::optional<Entry> find(MetadataPointer pointer);
  // Prefetches an entry that `find` is about to follow.
  void prefetch(MetadataPointer pointer) const;
  void supersede(MetadataPointer pointer, uint32_t delta_bytes);
  // Marks the newest of a chain as a delta, or as whole again with 0; it stays the newest.
  void set_delta_bytes(MetadataPointer pointer, uint32_t bytes);
  // Keeps only the first `count` features; at least one.
  void thin(MetadataPointer pointer, uint32_t count);
  void set_demoted_below(MetadataPointer pointer, uint8_t depth);
  void drop(MetadataPointer pointer);
  // Finds an entry by name, in pages that are in memory only.
  std::optional<MetadataPointer> find_cached(const ContentId& id);
  void drop_collection(uint32_t collection);
  void clear();  // everything goes, on disk too

  // Writes what changed. Returns the entries that moved on the way, so that the index can
  // follow.
  struct Moved {
    MetadataPointer from, to;
    Features features;
  };
  std::vector<Moved> flush();

  // Returns the first pointer after `pointer` (0: of all) that leads to an entry, superseded or not; nullopt when there is none.
  std::optional<MetadataPointer> next(MetadataPointer pointer);
  // Calls `visit(pointer, entry)` for all live entries, by age of their pages.
  enum class Order : uint8_t { oldest_first, newest_first };
  template <class Visit>
  void for_each_live(Order order, Visit visit);

  void set_cache_bytes_max(size_t bytes);
  size_t live() const;
  size_t memory_bytes() const;
  uint64_t pages_read() const;

 private:
  struct State;
  std::vector<uint32_t> page_numbers() const;
  uint32_t slots(uint32_t page) const;
  std::unique_ptr<State> state_;

  static constexpr uint32_t slot_bits = 12;
};

template <class Visit>
void MetadataLog::for_each_live(Order order, Visit visit) {
  auto numbers = page_numbers();
  if (order == Order::newest_first) numbers = {numbers.rbegin(), numbers.rend()};
  for (const uint32_t page : numbers) {
    const uint32_t count = slots(page);
    for (uint32_t i = 0; i < count; ++i) {
      const MetadataPointer pointer = page << slot_bits | (order == Order::newest_first ? count - 1 - i : i);
      if (const auto entry = find(pointer); entry && !entry->superseded) visit(pointer, *entry);
    }
  }
}

}  // namespace dedup
