// The metadata log keeps what is needed to know a content again: its name, its
// place in its chain and its features. The feature index points into it.
//
//   page    64 KB of entries, each relative to the one before
//   pointer page number (upper 21 bits) and slot in the page (lower 11)
//
// Only contents that are the newest of their chain are worth a place on disk. An
// entry that was superseded is still found while its page stays in memory (a
// revert likes to meet it), but is written out as one byte; a page with few live
// entries gives them to the open page and is erased.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dedup/sketch.h"

namespace dedup {

// Plug: a numbered set of pages. Losing pages loses compression, never data.
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
  uint32_t lineage() const { return has_lineage ? features[0] : 0; }

  ContentId id;
  Placement placement;
  Features features;                 // that of its lineage first, if it has one
  bool has_lineage = false;
  std::vector<ContentId> hop_bases;  // the chain's latest hop base of each level, from level 1 up
  // Not kept on disk:
  bool superseded = false;
  uint32_t delta_bytes = 0;          // what it costs since it was superseded
  MetadataPointer next = 0;          // by whom
};

// Not thread-safe. Pointers stay valid until the entry is moved or dropped;
// a pointer to nothing is an expected case everywhere.
class MetadataLog {
 public:
  MetadataLog(MetadataStore& store, size_t cache_bytes_max);
  ~MetadataLog();

  MetadataPointer append(Metadata entry);
  // Valid until the next call.
  Metadata* find(MetadataPointer pointer);
  void supersede(MetadataPointer pointer, MetadataPointer next, uint32_t delta_bytes);
  void drop(MetadataPointer pointer);
  // By name, in pages that are in memory only.
  std::optional<MetadataPointer> find_cached(const ContentId& id);
  void drop_collection(uint32_t collection);
  void clear();  // everything, on disk too

  // Writes what changed. Entries that moved on the way are returned, so that the
  // index can follow.
  struct Moved {
    MetadataPointer from, to;
    Features features;
  };
  std::vector<Moved> flush();

  // Calls `visit(pointer, entry)` for all live entries, oldest page first.
  template <class Visit>
  void for_each_live(Visit visit);

  size_t live() const;
  size_t memory_bytes() const;

 private:
  struct State;
  std::vector<uint32_t> page_numbers() const;
  uint32_t slots(uint32_t page);
  std::unique_ptr<State> state_;
};

template <class Visit>
void MetadataLog::for_each_live(Visit visit) {
  for (uint32_t page : page_numbers()) {
    for (uint32_t slot = 0, count = slots(page); slot < count; ++slot) {
      const MetadataPointer pointer = page << 11 | slot;
      if (Metadata* entry = find(pointer); entry && !entry->superseded) visit(pointer, *entry);
    }
  }
}

}  // namespace dedup
