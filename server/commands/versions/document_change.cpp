#include "server/commands/versions/document_change.h"

#include "base/error.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/core/arguments.h"
#include "server/query/branches/states.h"
#include "server/write/storable.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::bad_value, "a change of a patch is wrong: " + why);
}

std::optional<base::BytesView> side(const std::optional<bson::DocumentView>& document) {
  return document ? std::optional(document->bytes()) : std::nullopt;
}

}  // namespace

DocumentChange::DocumentChange(const bson::Element& given) {
  if (given.is_string()) {
    parsed_ = bson::from_json(given.as_string()).or_throw();
    // Text can nest deeper than what a message brings.
    bson::validate(parsed_->bytes(), {.utf8 = true}).or_throw();
    read(*parsed_);
  } else if (given.is_object()) {
    read(given.as_document());
  } else {
    throw OperationError(ErrorCode::type_mismatch, "'changes' must be an array of objects, or of lines of JSON");
  }
}

void DocumentChange::read(bson::DocumentView given) {
  const Arguments arguments("applyPatch.changes", given);
  arguments.only({"collection", "_id", "change", "before", "after", "patch", "tooLarge"});
  collection_ = arguments.required_string("collection");
  id_ = given.find("_id");
  if (!id_.exists()) refuse("'_id' is missing");
  if (given.has("tooLarge")) refuse("it was too large for a diff, which left its documents out");
  key_ = query::key_of_id(id_);
  before_ = arguments.object("before"), after_ = arguments.object("after");
  if (const auto operations = arguments.array("patch")) {
    if (before_ || after_) refuse("it has 'patch' and 'before' or 'after'");
    patch_.emplace(*operations);
    if (const auto change = arguments.string("change")) {
      if (*change != "insert" && *change != "update" && *change != "delete") refuse("'change' is '" + std::string(*change) + "'");
      kind_ = *change;
    }
    return;
  }
  if (!before_ && !after_) refuse("it has neither 'patch' nor 'before' or 'after'");
  const std::string_view is = before_ && after_ ? "update" : after_ ? "insert" : "delete";
  if (const auto change = arguments.string("change"); change && *change != is)
    refuse("'change' is '" + std::string(*change) + "', and its documents say '" + std::string(is) + "'");
  for (const auto& document : {before_, after_}) {
    if (document && !document->find("_id").identical(id_)) refuse("a document has another _id than the change");
  }
}

// A document that already is as the patch makes it is accepted: the same patch may have been applied before.
void DocumentChange::check_kind(const std::optional<bson::Document>& ours, const std::optional<bson::Document>& after) const {
  if (kind_.empty() || (ours && after && ours->bytes() == after->bytes()) || (!ours && !after)) return;
  const std::string_view is = !ours ? "insert" : after ? "update" : "delete";
  if (is != kind_)
    refuse("'change' is '" + std::string(kind_) + "', and the patch is " + std::string(is == "delete" ? "a " : "an ") +
           std::string(is));
}

DocumentChange::Outcome DocumentChange::applied_to(const std::optional<bson::Document>& ours, const versions::Resolver& resolve,
                                                   const std::function<void()>& interrupted, const versions::Hold& hold) const {
  const auto mine = ours ? std::optional(ours->view()) : std::nullopt;
  const auto bytes = side(mine);
  Outcome outcome;
  if (patch_) {
    auto patched = patch_->apply(mine);
    if (patched.mismatch) {
      outcome.conflict = true;
      if (!patched.mismatch->empty()) outcome.paths = {*patched.mismatch};
      return outcome;
    }
    outcome.after = std::move(patched.document);
    check_kind(ours, outcome.after);
  } else {
    const auto base = side(before_), theirs = side(after_);
    if (bytes == base || (!bytes && !theirs)) {
      if (after_) outcome.after = bson::Document(*after_);
    } else {
      outcome.touched_by_both = true;
      versions::Resolution resolution = resolve({base, bytes, theirs, &interrupted, &hold});
      using Kind = versions::Resolution::Kind;
      switch (resolution.kind) {
        case Kind::ours: return outcome;
        case Kind::theirs:
          if (after_) outcome.after = bson::Document(*after_);
          break;
        case Kind::written: outcome.after = bson::Document(std::move(resolution.document)); break;
        case Kind::conflict:
          outcome.conflict = true;
          outcome.paths = std::move(resolution.paths);
          return outcome;
      }
    }
  }
  if (outcome.after) {
    if (!outcome.after->view().find("_id").identical(id_))
      throw OperationError(ErrorCode::immutable_field, "a patch changes the _id of a document");
    if (auto storable = write::make_storable(*outcome.after, std::nullopt)) outcome.after = std::move(storable);
  }
  outcome.changes = side(outcome.after ? std::optional(outcome.after->view()) : std::nullopt) != bytes;
  return outcome;
}

}  // namespace server
