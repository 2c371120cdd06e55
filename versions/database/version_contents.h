// VersionContents makes for a repair what writes of a document left, of the log's entries and of records.
//
// A line of many updates is asked for one version after the other, oldest first. So what was made last of each line is kept, and
// the next version begins there.
#pragma once

#include <map>

#include "storage/upkeep/entry_log.h"
#include "versions/database/collection_view.h"
#include "versions/database/version_lines.h"

namespace versions {

class VersionContents {
 public:
  using Interrupted = std::function<void()>;

  // It borrows all of them.
  VersionContents(SharedCollection& shared, storage::EntryLog& log, const VersionLines& lines)
      : shared_(shared), log_(log), lines_(lines) {}

  // Returns what the writes of the step's line come to with this step; nullopt: nobody has what they begin with, or one of them.
  std::optional<bson::Document> after(Transaction& transaction, const Bytes& key, size_t step, const Interrupted& interrupted);
  // Returns the content of the document with the hash, in the log or in a record.
  std::optional<bson::Document> with_hash(Transaction& transaction, const Bytes& key, const Hash& hash,
                                          const Interrupted& interrupted);
  // Returns what the writes of the step's line make of a content of the document, if it has the hash: for lines of which nobody
  // knows what they begin with.
  std::optional<bson::Document> changed_to(Transaction& transaction, const Bytes& key, size_t step, const Hash& hash,
                                           const Interrupted& interrupted);
  // Returns whether the document has more contents, or the writes more changes, than the last two functions look at.
  bool gave_up(const Bytes& key) const;

 private:
  using Step = VersionLines::Step;
  struct OfKey {
    std::map<size_t, std::optional<bson::Document>> made;    // by the step that made it; one of each line
    std::optional<std::map<Hash, bson::Document>> contents;  // all that can be read
    size_t changes_tried = 0;
    bool gave_up = false;
  };

  std::optional<bson::Document> begin_of(Transaction& transaction, const Bytes& key, const Step& first);
  const std::map<Hash, bson::Document>& contents(Transaction& transaction, const Bytes& key, const Interrupted& interrupted);
  void read_contents(Transaction& transaction, const Bytes& key, OfKey& of, const Interrupted& interrupted);
  std::optional<bson::Document> changed(Stamp stamp, const std::optional<bson::Document>& before, const Interrupted& interrupted);
  void keep_made(OfKey& of, size_t step, const std::optional<bson::Document>& document);
  void make_room();
  void ask(const Interrupted& interrupted);

  SharedCollection& shared_;
  storage::EntryLog& log_;
  const VersionLines& lines_;
  std::unordered_map<Bytes, OfKey> of_keys_;
  size_t held_bytes_ = 0;
  size_t asked_ = 0;
};

}  // namespace versions
