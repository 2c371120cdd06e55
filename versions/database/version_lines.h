// VersionLines follows documents of a database with branches through the log, and finds the write that made each of some records.
//
// On each branch a document has a line of writes. A record that a branch added is changed in its place until a commit folds it,
// and never again. So a record's content is what its branch's line has come to when
//
//   beginBranches   is logged, for records from before the first branch
//   commit          is logged that the record came with, if the commit holds the line's newest write
//   merge           is logged that the record came with: the merge wrote it, and has a generation of its own for it
//   the log ends    for records that are pending, if the line's newest write has the pending row's timestamp
//
// A line begins with a content, or with a content that a record has, or with what a commit shows where the branch was made or
// reset. It ends where the log doesn't say how it goes on: at damage, where a branch takes a collection's documents as a whole,
// and at an entry that names a record of which nobody knows any more whose it was, as after an earlier repair.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "versions/branch/record_set.h"
#include "versions/database/logged_writes.h"

namespace versions {

// A record whose write is looked for.
struct WantedVersion {
  enum class Kind : uint8_t { first, committed, pending };  // first: it is older than the first branch
  storage::RecordId record = 0;
  Bytes key = {};
  Kind kind = Kind::first;
  Hash commit{};            // `committed`: the commit that the record came with
  std::string branch = {};  // `pending`, with the timestamp of its row
  Stamp stamp = 0;
};

class VersionLines final : public LoggedWrites {
 public:
  // A write, and what it changed.
  struct Step {
    enum class Kind : uint8_t {
      unknown,   // the log doesn't have what was there before the first write
      shown_by,  // the commit shows it
      names,     // the record has it, with the step's timestamp as its generation
      has,
      changes,
    };
    Kind kind = Kind::unknown;
    Stamp stamp = 0;
    storage::RecordId record = 0;
    Hash commit{};
    std::optional<size_t> before = {};  // the step that this one changes
  };

  struct Merge {
    Hash from{};  // the commit that the merge takes changes from
    bool imported = false;
  };
  struct Found {
    size_t step = 0;       // into steps() of the record's key
    Stamp generation = 0;  // of the record's content
    // The record came with a merge, unless it is one of those that the merge took over.
    std::optional<Merge> merge = {};
  };
  // A document with more writes isn't followed to the end of the log.
  static constexpr size_t steps_max = 100'000;

  // The records that the log may name: all versions of the wanted documents, with their keys, and those of other documents.
  struct Records {
    std::unordered_map<storage::RecordId, Bytes> keys;
    RecordSet others;
  };
  VersionLines(Of of, std::vector<WantedVersion> wanted, Records records);

  void meet_end();

  const std::map<storage::RecordId, Found>& found() const { return found_; }
  const std::vector<Step>& steps(const Bytes& key) const { return steps_.at(key); }
  // Records of the key may be missing in found() because the document has too many writes, or because the log is damaged. Returns
  // the reason, with the newest damage; an empty string: there is none.
  std::string why_not(const Bytes& key) const;

 private:
  struct Line {
    std::optional<size_t> step;  // nullopt: the branch doesn't have the document
    Stamp newest = 0;
    Stamp transaction = 0;
  };
  struct BranchLines {
    std::optional<Hash> origin;  // a document without a line is as this commit shows it
    std::unordered_map<Bytes, Line> of_keys;
    // The transactions of merges and advances. They take records over, so a newest write by them need not be the record's.
    std::set<Stamp> taken_over;
  };

  void write(const LoggedEntry& entry, const std::string& on) override;
  void change(const log::BranchChange& change, const LoggedEntry& entry) override;
  void dropped() override {
    branches_.clear();
    found_.clear();
  }
  void hole() override { branches_.clear(); }
  void begin();
  void commit(const log::CommitBranch& entry);
  void merge(const log::MergeBranch& entry, Stamp transaction);
  void take_over(const std::string& branch, Stamp transaction);
  void restart(const std::string& branch, std::optional<Hash> origin);
  void give_up(const Bytes& key);
  // Returns the line of a wanted document on the branch. nullptr: the line isn't known, or the branch doesn't have the document,
  // or `own` is set and the newest write on the line came with a merge or an advance.
  const Line* line(const std::string& branch, const Bytes& key, bool own) const;

  const std::vector<WantedVersion> wanted_;
  const Records records_;
  std::multimap<Hash, const WantedVersion*> by_commit_;
  std::unordered_map<Bytes, std::vector<Step>> steps_;  // of each wanted document
  std::set<Bytes> given_up_;                            // these have too many
  std::map<std::string, BranchLines> branches_;
  std::map<storage::RecordId, Found> found_;
};

}  // namespace versions
