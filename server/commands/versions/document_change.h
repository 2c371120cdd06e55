// A DocumentChange is a change of one document as `diff` shows it and `applyPatch` takes it:
//
//   {collection: "pages", _id: 1, change: "update", before: {…}, after: {…}}     merged with what the branch shows
//   {collection: "pages", _id: 1, change: "update", patch: [{op, path, value}]}  a JSON patch, whose every operation must fit
//   '{"collection": "pages", "_id": {"$numberInt": "1"}, …}'                     either, as text in Extended JSON
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/json_patch.h"
#include "versions/branch/field_merge.h"

namespace server {

class DocumentChange {
 public:
  // `given` must outlive it. Throws the errors of wrong arguments; FailedToParse for text that is no JSON.
  explicit DocumentChange(const bson::Element& given);

  const std::string& collection() const { return collection_; }
  const bson::ValueView& id() const { return id_; }
  const base::Bytes& key() const { return key_; }
  bool is_patch() const { return patch_.has_value(); }

  struct Outcome {
    std::optional<bson::Document> after;  // nullopt: there is none
    bool changes = false;                 // whether `after` is another one than before
    bool touched_by_both = false;
    bool conflict = false;
    std::vector<std::string> paths = {};  // in conflict; empty: the document as a whole
  };
  // Returns what becomes of the document that the branch shows; nullopt: it shows none. Throws the errors of documents that
  // can't be stored. `interrupted` and `hold` are those of versions::Sides.
  Outcome applied_to(const std::optional<bson::Document>& ours, const versions::Resolver& resolve,
                     const std::function<void()>& interrupted, const versions::Hold& hold) const;

 private:
  void check_kind(const std::optional<bson::Document>& ours, const std::optional<bson::Document>& after) const;
  void read(bson::DocumentView given);

  std::optional<bson::Document> parsed_;  // of text
  std::string collection_;
  bson::ValueView id_;
  base::Bytes key_;
  std::optional<bson::DocumentView> before_, after_;
  std::optional<bson::JsonPatch> patch_;
  std::string_view kind_;  // what a change with a patch says of itself; empty: nothing
};

}  // namespace server
