// Gives back the space that encoding has freed, and moves what will stay to
// where it takes less.
//
// New rows come into pages that are written fast (`records`). Once they have been
// looked at for likeness, they move in key order to large pages that are
// compressed thoroughly (`packed`), with the collection's dictionary.
//
// A leaf page of a record table whose contents became deltas is nearly empty,
// and WiredTiger never merges leaf pages: three stubs would go on costing a
// block of their own. So the rows of a table that has thinned out are moved, in
// key order, to its twin, and the emptied pages are dropped. Then the file is
// compacted: blocks move to its front, and its end is cut off. WiredTiger compacts
// no file below a megabyte; of such a one the end is cut off where it is free.
//
// Deltas and contents that are kept come into pages of `chains` that are compressed
// fast, too; they stay in their table, whose pages are written anew, thoroughly.
#pragma once

#include <functional>
#include <string>

#include "storage/contents/chain_store.h"

namespace storage {

// Of tables that say nothing else (TableOptions).
constexpr int64_t small_page_bytes = 32 << 10;

// Not thread-safe.
class TablePacker {
 public:
  // `asked`: somebody waits for the space, so less of it is worth the work.
  explicit TablePacker(Contents& contents, bool asked = false);

  // `interrupted` is asked between batches. True: something was done.
  bool tidy(ChainStore& store, const std::function<bool()>& interrupted);
  // Moves every row of `records` to `packed`, or `back`.
  bool pack(ChainStore& store, bool back, const std::function<bool()>& interrupted);
  // True: the file has become shorter.
  bool compact_if_worth(const std::string& table);
  // The same for files that WiredTiger won't compact. `page_bytes`: of the table's pages, at most.
  bool rewrite_if_worth(const Table& table, const std::function<bool()>& interrupted, int64_t page_bytes = small_page_bytes);

  uint64_t packed() const { return packed_; }  // rows
  uint64_t compactions() const { return compactions_; }

 private:
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
