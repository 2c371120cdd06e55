// A CommitImporter makes the commits of packs (versions/pack) in a database here.
//
//   shop                 unborn: its first commit's documents are inserted, and then its branches begin with them
//   shop@tmp.agg_out.…   each other commit is made on this branch, which stands at the commit's first parent
//
// A commit whose first parent isn't here stands at the commit that its rows are against, and at one that shows nothing if they
// are against nothing (versions::Graft). So history is shallow.
//
// A commit is there when it has come to the id that the pack names, and not before. No ref of anybody moves. What has been made
// stays, whatever comes after it; so the next attempt goes on behind it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "versions/database/databases.h"
#include "versions/database/imported_commit.h"
#include "versions/database/selection.h"
#include "versions/pack/pack_reader.h"

namespace server {
class OperationContext;
}

namespace server::write {

class CommitImporter {
 public:
  // Is called with each definition of a view that comes, and throws if the client may not bring it.
  using CheckView = std::function<void(bson::DocumentView definition)>;
  // Commits whose parents aren't here are refused, or make the history shallow.
  enum class Shallow : uint8_t { refused, allowed };
  // `database` is a name without a ref.
  CommitImporter(OperationContext& op, std::string database, CheckView check_view, Shallow shallow = Shallow::refused);
  ~CommitImporter();
  CommitImporter(const CommitImporter&) = delete;
  CommitImporter& operator=(const CommitImporter&) = delete;

  // Makes the pack's commits that aren't here, with their collections and those of the collections' indexes that refuse no
  // document. Throws FailedToParse for a pack that is damaged or lies; IllegalOperation if it stands on commits that aren't here,
  // or has another history than the database; NamespaceExists if a collection's name is another collection's here. A commit that
  // was made from a part of another one (versions::Selection) is refused too, unless such a part is what the database begins with
  // or has.
  void import(versions::pack::PackReader& pack);
  // Makes the other indexes of the pack's collections, and those that an interrupted attempt left out. It is called after the
  // last of the packs, before refs move to their commits: these may show two documents under one key, and branches may not.
  // A second call is about the same collections as the first one, whatever refs have moved since.
  void make_indexes(const versions::pack::Header& header);

  // Returns whether no ref shows anything of the database yet, but for main, which stands at the first commit or at nothing. So
  // it is after an attempt that was interrupted, too.
  bool has_just_begun() const;
  // Returns whether main should leave the first commit, since documents of it expire (TTL) when the arrival (arrivals.h) is over.
  // Main stays if somebody has written to it.
  bool has_begun_what_expires() const;

  uint64_t made() const { return made_; }
  // Until this and the importer are gone, nobody drops the commits that no ref names yet, nor their collections.
  base::SharedHold keep_unnamed() { return std::move(unnamed_); }
  // nullptr: there is none, and the packs brought nothing that would begin it.
  const std::shared_ptr<versions::BranchedDatabase>& database() const { return database_; }

 private:
  struct Incoming;  // the commit that is being read

  void work_in(std::shared_ptr<versions::BranchedDatabase> database);
  void check_base(const versions::pack::Header& header);
  // The commit, if more than its id is here.
  std::optional<versions::CommitNumber> find(const versions::Hash& id) const;
  void check_selected(const versions::pack::Commit& commit);
  bool is_grafted(const versions::pack::Commit& commit) const;
  void check_same_history(const versions::Hash& ours, const versions::Hash& theirs) const;
  void begin_root(const versions::pack::Header& header);
  void stand_at_nothing();
  void check_collections_are(const std::vector<const versions::pack::Collection*>& collections) const;
  void begin_commit(const versions::pack::Header& header, versions::pack::Commit commit);
  void add(const versions::pack::Header& header, versions::pack::Row row);
  void end_commit(const versions::pack::Header& header);
  void make(const versions::pack::Header& header);
  bool ends_at(versions::CommitNumber commit) const;
  void have_empty_ones(storage::Transaction& transaction);
  void begin_first(const versions::pack::Header& header);
  void check_first() const;
  void end_first();
  void insert_first();
  void make_collections(const versions::pack::Header& header);
  void make_collection(const versions::pack::Collection& one);
  void stand_at(versions::CommitNumber parent);
  void check_view(const versions::ImportedRow& row);
  std::set<base::Bytes> shown_by_refs() const;
  std::vector<versions::CommitNumber> named_by_refs(storage::Transaction& transaction) const;
  bool has_documents_that_expire() const;
  bool may_be_written_before(const versions::pack::Header& header) const;
  void write_rows(const versions::pack::Header& header);
  void drop_branch() noexcept;

  OperationContext& op_;
  const std::string name_;
  const CheckView check_view_;
  const Shallow shallow_;
  std::shared_ptr<versions::BranchedDatabase> database_;
  base::SharedHold unnamed_;  // BranchedDatabase::keep_unnamed
  std::string branch_;        // empty: there is none
  versions::CommitNumber stands_at_ = 0;
  std::unique_ptr<Incoming> incoming_;
  std::shared_ptr<void> receives_first_;  // no document expires as long as this lives; for an arrival alone
  uint64_t made_ = 0;
  std::optional<std::set<base::Bytes>> shown_;   // UUIDs of collections that refs showed before indexes were made
  std::optional<versions::Selection> selected_;  // which the database is known to have commits of
};

}  // namespace server::write
