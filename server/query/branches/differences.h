// Differences are the documents that two states of a database show differently:
//
//   {collection: "pages", _id: 1, change: "update", before: {…}, after: {…}}
//
// The sets of records that only one of the states shows are known at once (versions::Difference). The second state's records are
// scanned, and the counterpart of each is looked up: by key among the first state's records if these are few enough to keep, else
// in the state itself. Then come the first state's records whose documents the second state lacks.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bson/document.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/query/branches/states.h"
#include "server/query/matcher.h"
#include "server/query/projection.h"

namespace server::query {

class Differences {
 public:
  struct What {
    versions::Ref from, to;
    bool from_last_commit = false;          // the branch of `to`
    std::optional<std::string> collection;  // nullopt: all
    // Paths: documents that differ in none of them are left out, and only these fields are shown. Empty: whole documents.
    std::vector<std::string> fields = {};
    bson::Document ids = {};  // a filter over _id alone
  };
  // Reads the arguments `from` and `to`; without them it compares the uncommitted changes of the branch that the database's name
  // says with its last commit.
  static What between(const Arguments& arguments, std::string_view db);

  // The filter and the projections account for their work to `allowance`, which must live longer.
  Differences(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const What& what, Allowance& allowance);

  // Refuses paths that don't go together, as a projection does.
  static void check_fields(const std::vector<std::string>& fields, Allowance& allowance);
  // Returns whether the filter lets documents be looked up by key instead of scanned.
  static bool by_key(bson::DocumentView ids);

  // Between begin and end there is an operation that can be interrupted.
  void begin(OperationContext& op) { op_ = &op; }
  void end() { op_ = nullptr; }
  bool next();
  bson::DocumentView document() const { return document_; }

 private:
  // Fields compares and shows some paths of documents.
  struct Fields {
    Fields(const std::vector<std::string>& paths, Allowance& allowance);
    bool differ(bson::DocumentView a, bson::DocumentView b) const;
    std::unique_ptr<Projection> shown;
    std::vector<std::unique_ptr<Projection>> each;
  };
  using Content = std::optional<base::Bytes>;

  bool step();
  bool open();
  void hold_removed();
  bool show_key(const base::Bytes& key);
  bool show_added();
  bool show_removed(storage::RecordId record);
  bool show(std::string_view change, const Content& before, const Content& after);
  bool wanted(base::BytesView content) const { return !ids_ || ids_->matches(bson::DocumentView(content)); }

  OperationContext* op_;  // nullptr between batches
  States states_;
  versions::Place from_, to_;
  std::optional<Fields> fields_;
  std::unique_ptr<Matcher> ids_;  // nullptr: all
  Held keys_held_;
  std::optional<std::vector<base::Bytes>> keys_;  // the documents to look at, if the filter names them

  std::vector<Versioned> collections_;
  size_t at_ = 0;
  // --- the collection that is being compared
  std::string name_;
  versions::BranchStore* store_ = nullptr;
  versions::View from_view_, to_view_;
  size_t key_at_ = 0;
  std::unordered_map<base::Bytes, storage::RecordId> held_;  // removed, or the old side of an update
  std::unique_ptr<versions::Scan> added_, removed_;          // `removed_`: if they are too many to hold
  bson::Document document_;
};

// Returns {collection, _id, change, tooLarge: true}: it stands for a difference that is larger than a document may be.
bson::Document too_large(bson::DocumentView difference);

}  // namespace server::query
