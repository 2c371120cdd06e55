// PendingLines follows the branches of a database through the log, and collects what each has written to one collection since
// its last commit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "versions/branch/record_set.h"
#include "versions/database/logged_writes.h"

namespace versions {

// It holds some 120 bytes for each document that was written on a branch since the branch's last commit.
class PendingLines final : public LoggedWrites {
 public:
  // A Write sums up the writes of one document.
  struct Write {
    Stamp first = 0;       // the timestamp of the first one
    Stamp newest = 0;      // the timestamp of the branch's pending row
    Stamp generation = 0;  // of the document's content
    Stamp transaction = 0;
    RecordId record = 0;         // where the document is; 0: the log doesn't say
    bool there = false;          // the branch has the document
    bool may_be_purged = false;  // a document with its `_id` was purged since, in this collection or in another one
  };
  // A Listed says that the branch made or dropped the collection itself.
  struct Listed {
    Stamp stamp = 0;
    bool lists = false;  // the branch has the collection
  };
  struct OfBranch {
    std::optional<Hash> head = {};                 // the branch's last commit; nullopt: the log doesn't say
    bool is_whole = false;                         // the log has all writes since
    std::unordered_map<Bytes, Write> writes = {};  // by the documents' keys
    std::optional<Listed> listed = {};
  };

  // Returns the key of the document that a record has, or had; nullopt: nobody knows it.
  using KeyOf = std::function<std::optional<Bytes>(RecordId)>;
  PendingLines(Of of, KeyOf key_of) : LoggedWrites(std::move(of)), key_of_(std::move(key_of)) {}

  const std::map<std::string, OfBranch>& branches() const { return branches_; }  // as they are at the log's end

 private:
  void write(const LoggedEntry& entry, const std::string& branch) override;
  void change(const log::BranchChange& change, const LoggedEntry& entry) override;
  void dropped() override { branches_.clear(); }
  void hole() override { branches_.clear(); }
  void commit(const log::CommitBranch& entry);
  // The commit has what the transaction wrote, which therefore isn't pending.
  void take_over(const std::string& branch, const Hash& commit, Stamp transaction);
  void drop_collection(OfBranch& branch, Stamp stamp);
  void purge(const Bytes& key);

  const KeyOf key_of_;
  std::map<std::string, OfBranch> branches_;
};

}  // namespace versions
