// How the pages of a collection are compressed.
//
// WiredTiger compresses a page when it writes it and knows a compressor by the
// name its table was made with. Each collection has two of them: one for tables
// whose rows come and go, fast, and one for tables whose rows stay, thorough.
// Both use the collection's newest dictionary, and read with any of them. For who
// packs pages that were written fast both are thorough.
//
//   records-17 ...    block_compressor=fresh-17      level 3
//   packed-17         block_compressor=settled-17    level 12, archive 19
//   pages-17.dict     the dictionaries, durable before the first page that needs one
//   index-17-1        block_compressor=entries       level 3
//
// A page of a dictionary that is gone can't be read, so a file that is missing
// or damaged is an error at start that names the collection.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "storage/engine/record_id.h"
#include "storage/format/page_dictionary.h"

struct __wt_connection;

namespace storage {

constexpr int level_fresh = 3;
constexpr int level_settled = 12;
constexpr int level_archived = 19;

// Thread-safe, but for `registering`.
class PageCompressors {
 public:
  // Reads the dictionaries of the directory's collections. Throws DataCorruptionDetected.
  PageCompressors(std::string directory, int settled_level);
  ~PageCompressors();

  // What wiredtiger_open has to be told, so that all of them are there before the journal is replayed. The next
  // wiredtiger_open of this thread takes them from here.
  std::string registering();

  // Makes a collection's compressors known, before its first table is made.
  void add(CollectionId collection);
  static std::string fresh_name(CollectionId collection) { return "fresh-" + std::to_string(collection); }
  static std::string settled_name(CollectionId collection) { return "settled-" + std::to_string(collection); }

  // For tables of indexes, one for all: rows by columns (page_columns.h), fast.
  static std::string entries_name();

  // Of the pages of tables whose rows stay, from now on: level 1 to 22, and whether rows are laid out by columns.
  void set_settled(CollectionId collection, int level, bool columns);

  // As long as it lives, all pages of the collection that this thread writes are written as those of tables whose rows stay.
  class Thorough {
   public:
    Thorough(PageCompressors& compressors, CollectionId collection);
    ~Thorough();
    Thorough(const Thorough&) = delete;
    Thorough& operator=(const Thorough&) = delete;
  };

  size_t dictionaries(CollectionId collection) const;
  // Makes another dictionary, and lets new pages use it once it is durable. False: the samples are not worth one.
  bool learn(CollectionId collection, const std::vector<Bytes>& samples, size_t bytes_max);

  // The dictionaries' file is what it should be. Else it is written again from memory, and the answer says so.
  std::string check_file(CollectionId collection);

  // A table was dropped. With the last of a collection's tables its dictionaries go.
  void table_gone(const std::string& table);

  int register_all(__wt_connection* connection);  // for wiredtiger_open alone

 private:
  struct Collection;
  struct Entries;
  Collection& make(CollectionId collection);
  void register_with(__wt_connection* connection, Collection& collection);
  std::string path(CollectionId collection) const;

  const std::string directory_;
  const int settled_level_;
  mutable std::mutex mutex_;
  std::map<CollectionId, std::unique_ptr<Collection>> collections_;
  const std::unique_ptr<Entries> entries_;
  __wt_connection* connection_ = nullptr;
};

}  // namespace storage
