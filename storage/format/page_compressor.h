// The page compressors compress the pages of collections.
//
// WiredTiger compresses a page when it writes it, and knows a compressor by the name that its table was made with. Each
// collection has two compressors: a fast one for tables whose rows come and go, and a thorough one for tables whose rows stay.
// Both use the collection's newest dictionary, and read with any of its dictionaries. While a thread packs pages that were
// written fast, both are thorough.
//
//   records-17 ...    block_compressor=fresh-17      level 3
//   packed-17         block_compressor=settled-17    level 12, archive 19
//   pages-17.dict     the dictionaries, durable before the first page that needs one
//   index-17-1        block_compressor=entries       level 3
//
// A page can't be read without its dictionary, so there is a copy of each file (pages-17-copy.dict). If both are missing or
// damaged, that is an error at start, which names the collection.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/cipher.h"
#include "base/mutex.h"
#include "storage/engine/record_id.h"
#include "storage/format/page_dictionary.h"

struct __wt_connection;

namespace storage {

constexpr int level_fresh = 3;
constexpr int level_settled = 12;
constexpr int level_archived = 19;

// The class is thread-safe, except for `registering`.
class PageCompressors {
 public:
  // Reads the dictionaries of all collections in the directory. Throws DataCorruptionDetected. `cipher` seals the files of
  // dictionaries; nullptr: they are plain.
  PageCompressors(std::string directory, int settled_level, const base::Cipher* cipher = nullptr);
  ~PageCompressors();

  // Returns the entry of the list of extensions that makes wiredtiger_open register all compressors before it replays the
  // journal. The next wiredtiger_open of this thread takes them from this object.
  std::string registering();

  // Makes the collection's compressors known to WiredTiger; it is called before the collection's first table is made.
  void add(CollectionId collection);
  static std::string fresh_name(CollectionId collection) { return "fresh-" + std::to_string(collection); }
  static std::string settled_name(CollectionId collection) { return "settled-" + std::to_string(collection); }

  // All tables of indexes share this compressor, which is fast and lays rows out by columns (page_columns.h).
  static std::string entries_name();

  // Sets how pages of tables whose rows stay are written from now on: the level is 1 to 22, and `columns` says whether rows are
  // laid out by columns.
  void set_settled(CollectionId collection, int level, bool columns);

  // As long as this object lives, all pages of the collection that this thread writes are compressed like those of tables whose
  // rows stay.
  class Thorough {
   public:
    Thorough(PageCompressors& compressors, CollectionId collection);
    ~Thorough();
    Thorough(const Thorough&) = delete;
    Thorough& operator=(const Thorough&) = delete;
  };

  size_t dictionaries(CollectionId collection) const;
  // Makes another dictionary, and lets new pages use it once it is durable. Returns false if the samples are not worth a
  // dictionary.
  bool learn(CollectionId collection, const std::vector<Bytes>& samples, size_t bytes_max);

  // Checks the file of the dictionaries. If it is damaged, it is written again from memory, and the returned text says so.
  std::string check_file(CollectionId collection);

  // Reports that a table was dropped. With the last of a collection's tables, its dictionaries are removed.
  void table_gone(const std::string& table);

  int register_all(__wt_connection* connection);  // only wiredtiger_open calls it

 private:
  struct Collection;
  struct Entries;
  Collection& make(CollectionId collection) REQUIRES(mutex_);
  void register_with(__wt_connection* connection, Collection& collection);
  std::string path(CollectionId collection) const;
  std::vector<Bytes> load(CollectionId collection) const;
  base::Result<std::vector<Bytes>> read(const std::string& file) const;
  void write(CollectionId collection, const std::string& text) const;

  const std::string directory_;
  const int settled_level_;
  const base::Cipher* const cipher_;
  mutable base::Mutex mutex_;
  std::map<CollectionId, std::unique_ptr<Collection>> collections_ GUARDED_BY(mutex_);
  __wt_connection* connection_ GUARDED_BY(mutex_) = nullptr;
  const std::unique_ptr<Entries> entries_;
};

}  // namespace storage
