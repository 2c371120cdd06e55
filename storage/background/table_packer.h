// The packer gives back the space that encoding has freed, and moves rows that will stay to a table where they take less space.
//
// New rows come into pages that are written fast (`records`). Once contents similar to them were looked for, they move
// in key order to large pages that are compressed thoroughly (`packed`), with the collection's dictionary.
//
// When the contents of a leaf page became deltas, the page is nearly empty. WiredTiger never merges leaf pages, so three stubs
// would still cost a block of their own. So the packer moves the rows of a table that has thinned out, in key order, to the
// table's twin, and the emptied pages are dropped. Then it compacts the file: blocks move to the file's front, and its end is cut
// off. WiredTiger doesn't compact a file below a megabyte; it only cuts off the end of such a file where that is free.
//
// Deltas and retained contents come into pages of `chains` that are compressed fast, too. They stay in their table, whose pages
// the packer writes again with thorough compression.
#pragma once

#include <functional>
#include <string>

#include "storage/contents/chain_store.h"

namespace storage {

// Tables that set no page size (TableOptions) have pages of this size.
constexpr int64_t small_page_bytes = 32 << 10;

// This class is not thread-safe.
class TablePacker {
 public:
  // `asked` means that somebody waits for the space, so that a smaller gain is worth the work.
  explicit TablePacker(Contents& contents, bool asked = false);

  // This function calls `interrupted` between batches. It returns true when it did something. On a nearly full disk it only
  // compacts: to move rows takes room at first.
  bool tidy(ChainStore& store, const std::function<bool()>& interrupted);
  // This function moves every row of `records` to `packed`, or with `back` the other way.
  bool pack(ChainStore& store, bool back, const std::function<bool()>& interrupted);
  // The function returns true when the file has become shorter.
  bool compact_if_worth(const std::string& table);
  // This function does the same for files that WiredTiger won't compact. `page_bytes` is the largest size of the table's pages.
  bool rewrite_if_worth(const Table& table, const std::function<bool()>& interrupted, int64_t page_bytes = small_page_bytes);

  bool has_room() const;                       // for anything but compaction
  uint64_t packed() const { return packed_; }  // This counts rows.
  uint64_t compactions() const { return compactions_; }

 private:
  bool rewrite_rows(ChainStore& store, const std::function<bool()>& interrupted);
  void learn(ChainStore& store);
  bool settle(ChainStore& store, const std::function<bool()>& interrupted);
  bool touch(const Table& table, Transaction& transaction, Bytes& position) const;

  Contents& contents_;
  Engine& engine_;
  const bool asked_;
  uint64_t packed_ = 0;
  uint64_t compactions_ = 0;
};

}  // namespace storage
