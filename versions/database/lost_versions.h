// LostVersions finds for a repair what a record of a database with branches had, in the log and in other versions.
//
//   which write made it   the log alone says that (version_lines.h), and so the content's generation
//   the content           what the log's entries make from there back to a content that is known, in the log or in a record
//                         (version_contents.h); or, if the write only names it, any content of the document that has the hash
//   the hash              what the tree of a commit that shows the record names
//
// If a commit's tree names the record's hash, only a content with this hash is accepted. No tree names pending records, and none
// may name the records that the first commit alone shows.
#pragma once

#include <memory>

#include "storage/store.h"
#include "storage/upkeep/repair.h"
#include "versions/database/branched_database.h"
#include "versions/database/version_contents.h"
#include "versions/database/version_lines.h"

namespace versions {

// Nobody else may use the collection meanwhile.
class LostVersions final : public storage::DocumentLog {
 public:
  LostVersions(storage::Store& store, std::shared_ptr<BranchedDatabase> database, std::shared_ptr<SharedCollection> shared,
               storage::EntryLog& log)
      : store_(store), database_(std::move(database)), shared_(std::move(shared)), log_(log) {}

  std::map<RecordId, storage::LoggedDocument> find(const storage::Collection& collection,
                                                   const std::vector<storage::DamagedDocument>& lost,
                                                   const std::function<void()>& interrupted) override;
  base::Result<Bytes> content(RecordId record, const std::function<void()>& interrupted) override;

 private:
  using Step = VersionLines::Step;

  std::unordered_map<RecordId, std::vector<Bytes>> keys_of_unnamed(Transaction& transaction,
                                                                   const std::vector<storage::DamagedDocument>& lost);
  // Adds the records of which the index on `_id` knows that they are other documents', as far as it can be read.
  void add_others(Transaction& transaction, VersionLines::Records& records, const std::function<void()>& interrupted);
  // `versions` are those of the document, which has this key.
  std::optional<WantedVersion> wanted(Transaction& transaction, RecordId record, const Bytes& key,
                                      const std::vector<Version>& versions);
  // Returns whether the record is one that the merge wrote.
  bool is_written(Transaction& transaction, RecordId record, const VersionLines::Merge& merge);

  // The hash that the tree of a commit names for the record.
  struct Named {
    std::optional<Hash> hash;
    bool damaged = false;  // a tree may name it, and can't be read
  };
  Named named(Transaction& transaction, const WantedVersion& version, const std::function<void()>& interrupted);
  Named named_by(Transaction& transaction, CommitNumber commit, const WantedVersion& version);
  // The commits that weren't dropped; nullopt: the graph is damaged.
  const std::optional<std::vector<CommitNumber>>& commits(Transaction& transaction);
  bool has_all_commits(Transaction& transaction);
  // Returns the content that the step's write made; nullopt: nobody knows it. If a tree names a hash for the content, that is
  // `hash`, and only a content that has it is returned.
  std::optional<bson::Document> made_by(Transaction& transaction, const WantedVersion& version, size_t step,
                                        const std::optional<Hash>& hash, const std::function<void()>& interrupted);
  std::string why_not(const Bytes& key, size_t step, bool has_hash) const;

  storage::Store& store_;
  const std::shared_ptr<BranchedDatabase> database_;
  const std::shared_ptr<SharedCollection> shared_;
  storage::EntryLog& log_;
  std::unordered_map<RecordId, WantedVersion> wanted_;
  std::optional<VersionLines> lines_;
  std::optional<VersionContents> contents_;
  // These are read once, since there may be many branches and commits.
  std::optional<std::vector<Branch>> branches_;
  std::optional<std::optional<std::vector<CommitNumber>>> commits_;
  std::optional<bool> has_all_commits_;
};

}  // namespace versions
