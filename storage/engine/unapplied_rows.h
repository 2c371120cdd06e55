// After a crash the journal may have changes of rows whose pages on disk are damaged. The start can't apply these, so it keeps
// them in a file, and a repair of the table puts them into it.
//
// Until then nobody reads or writes such a row (`blocks`), also if its page can be read after all, because only a read of it had
// failed. So nothing can overtake what the file has: a repair, or the next start that can read the page, applies the rows.
//
//   palimpsest.unapplied  docs/formats/unapplied.md
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/cipher.h"
#include "base/mutex.h"

namespace storage {

using base::Bytes;
using base::BytesView;

inline constexpr char unapplied_file[] = "palimpsest.unapplied";

// The class is thread-safe.
class UnappliedRows {
 public:
  // These are the last changes of each row by its key; without a value the row was removed.
  using Rows = std::map<Bytes, std::optional<Bytes>, std::less<>>;
  using Tables = std::map<std::string, Rows, std::less<>>;

  // Reads the directory's file, and throws OperationError if it can't. If the file is damaged, or a newer program's, this logs it
  // and knows of no rows; before another file takes its name, it gets a name of its own. `cipher` is nullptr if the directory
  // isn't encrypted.
  UnappliedRows(std::string directory, const base::Cipher* cipher);

  // Recovery calls these in the order of the journal, and then saves. Without a bound, a range has no end on that side.
  void change(const std::string& table, BytesView key, std::optional<Bytes> value);
  // The rows of a range were removed, though not all of its pages could be read.
  void remove(const std::string& table, const std::optional<Bytes>& from, const std::optional<Bytes>& to);
  // These rows can be read, since a change of them could be applied.
  void applied(const std::string& table, BytesView key);
  void applied(const std::string& table, const std::optional<Bytes>& from, const std::optional<Bytes>& to);
  // Writes the file if it hasn't these rows yet. Throws OperationError.
  void save();

  bool any() const { return any_.load(std::memory_order_relaxed); }
  Tables all() const;
  Rows of(const std::string& table) const;
  // Returns whether a row with from <= key <= to waits, so that an operation which needs it fails as it does on a damaged page.
  // Without a bound, the range has no end on that side.
  bool blocks(std::string_view table, std::optional<BytesView> from, std::optional<BytesView> to) const;
  bool blocks(std::string_view table, BytesView key) const { return blocks(table, key, key); }
  // While this lives, the table's rows block nobody: its holder puts them into the table, which nobody else uses.
  class Unblocked {
   public:
    Unblocked(UnappliedRows& rows, std::string table);
    ~Unblocked();
    Unblocked(const Unblocked&) = delete;
    Unblocked& operator=(const Unblocked&) = delete;

   private:
    UnappliedRows& rows_;
    const std::string table_;
  };
  // Makes the file forget a table that is gone, or that has the rows by now. If this throws OperationError, nothing is forgotten.
  void forget(const std::string& table);
  // Forgets all tables but these, as a start does before it makes tables. The file has them until `keep`.
  void forget_others(const std::set<std::string>& tables);
  // Makes the file forget the rows with from <= key <= to. It is called before they are removed: WiredTiger may remove a damaged
  // page without reading it, and then the rows of the file would come back.
  void forget(const std::string& table, BytesView from, BytesView to);
  // Leaves only these. The file isn't touched if it has just these.
  void keep(Tables left);

 private:
  struct Range {
    Rows::iterator first, end;
  };
  static Range range(Rows& rows, const std::optional<Bytes>& from, const std::optional<Bytes>& to);
  void write(Tables tables) REQUIRES(mutex_);
  void set_aside() REQUIRES(mutex_);

  const std::string directory_;
  const base::Cipher* const cipher_;
  mutable base::Mutex mutex_;
  Tables tables_ GUARDED_BY(mutex_);
  // The hash at the end of the file; `no_file` stands for none, and nullopt for one that may be anything.
  std::optional<uint64_t> stored_ GUARDED_BY(mutex_);
  bool damaged_file_ GUARDED_BY(mutex_) = false;
  std::set<std::string, std::less<>> unblocked_ GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};
};

// Returns nullopt for bytes that encode_unapplied never returns.
std::optional<UnappliedRows::Tables> decode_unapplied(BytesView bytes);
Bytes encode_unapplied(const UnappliedRows::Tables& tables);

}  // namespace storage
