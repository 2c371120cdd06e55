#include "server/write/commit_check.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/query/expressions/now.h"
#include "server/query/parse_context.h"
#include "server/query/stages/pipeline.h"
#include "server/query/validator.h"
#include "server/write/detailed_error.h"
#include "storage/collections/stored_collection.h"
#include "storage/engine/names.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

namespace {

constexpr size_t violations_max = 10, shown_bytes_max = 16 << 10, validators_bytes_max = 1 << 20;

// Stages that look at nothing but the documents that they get.
constexpr std::array<std::string_view, 17> stages_allowed = {
    "$match", "$project", "$addFields", "$set",   "$unset",  "$replaceRoot", "$replaceWith", "$unwind",    "$group",
    "$sort",  "$limit",   "$skip",      "$count", "$redact", "$sortByCount", "$bucket",      "$bucketAuto"};

struct Validator {
  std::optional<bson::DocumentView> rules, pipeline;
};

Validator read(std::string_view collection, const bson::Element& given) {
  if (!given.is_object())
    throw OperationError(ErrorCode::type_mismatch, "what commits of '" + std::string(collection) + "' must fulfil is an object");
  const Arguments arguments("commitValidator." + std::string(collection), given.as_document());
  arguments.only({"validator", "pipeline"});
  const Validator one{arguments.object("validator"), arguments.array("pipeline")};
  if (!one.rules && !one.pipeline)
    throw OperationError(ErrorCode::bad_value,
                         "what commits of '" + std::string(collection) + "' must fulfil is a 'validator', a 'pipeline', or both");
  return one;
}

// The documents that came with the commit.
class NewDocuments : public query::Stage {
 public:
  NewDocuments(OperationContext& op, std::unique_ptr<versions::Scan> scan) : Stage(nullptr), op_(op), scan_(std::move(scan)) {}

  bool next() override {
    op_.check_interrupt();
    return scan_->next();
  }
  bson::DocumentView document() override { return bson::DocumentView(scan_->content()); }

 private:
  OperationContext& op_;
  std::unique_ptr<versions::Scan> scan_;
};

class Violations {
 public:
  bool full() const { return list_.count() == violations_max; }
  bool any() const { return list_.count() > 0; }

  // A document that takes too much room isn't shown.
  void add(const std::string& collection, const bson::ValueView& id, std::string_view name, const bson::Document& shown) {
    bson::Builder one = list_.object();
    one.append("collection", collection);
    if (id.exists() && id.bytes().size() <= shown_bytes_max) one.append("failingDocumentId", id);
    if (shown.size() <= shown_bytes_max) one.append(name, shown);
  }

  [[noreturn]] void fail() {
    bson::Builder details;
    {
      bson::Builder info = details.object("errInfo");
      info.append("violations", list_.done_value());
    }
    throw DetailedError(ErrorCode::document_validation_failure, "Commit failed validation", details.done());
  }

 private:
  bson::ArrayBuilder list_;
};

std::shared_ptr<versions::SharedCollection> collection_of(const BranchedDatabase& database, std::string_view name) {
  for (const storage::CollectionId id : database.collections()) {
    auto shared = database.versions_of(id);
    if (shared && storage::collection_of(shared->base.ns()) == name) return shared;
  }
  return nullptr;
}

void check_rules(OperationContext& op, const storage::Collection& collection, const std::string& name, bson::DocumentView rules,
                 NewDocuments& documents, Violations& violations) {
  const query::ParseContext compared = query::parse_context(op, {}, collection.options().collator);
  const auto matcher = query::compile_validator(rules, compared);
  while (!violations.full() && documents.next()) {
    const bson::DocumentView one = documents.document();
    if (query::fulfils(op, *matcher, one)) continue;
    const bson::Document info = query::error_info(op, rules, one, compared);
    const auto details = info["details"];
    violations.add(name, one.find("_id"), "details", details.is_object() ? bson::Document(details.as_document()) : info);
  }
}

void check_pipeline(OperationContext& op, const storage::Collection& collection, const std::string& name, const std::string& db,
                    bson::DocumentView stages, std::unique_ptr<NewDocuments> documents, Violations& violations) {
  query::PipelineContext context(query::command_time_ms(op), &op);
  context.db = db;
  context.collection = name;
  context.set_collator(collection.options().collator);
  const query::Pipeline pipeline(stages, context);
  const query::StagePtr last = pipeline.start_over(std::move(documents));
  while (!violations.full() && last->next()) {
    const bson::DocumentView one = last->document();
    violations.add(name, one.find("_id"), "result", bson::Document(one));
  }
}

}  // namespace

void check_validators(OperationContext& op, bson::DocumentView validators) {
  if (validators.bytes().size() > validators_bytes_max)
    throw OperationError(ErrorCode::bad_value, "what commits must fulfil is larger than a megabyte");
  std::unordered_set<std::string_view> names;
  for (const bson::Element& given : validators) {
    op.check_interrupt();
    const std::string name(given.name);
    if (!names.insert(given.name).second)
      throw OperationError(ErrorCode::bad_value, "there are two validators for collection '" + name + "'");
    const Validator one = read(name, given);
    if (one.rules) {
      query::check_validator(*one.rules, query::parse_context(op));
      query::compile_validator(*one.rules, query::parse_context(op));
    }
    if (!one.pipeline) continue;
    for (const bson::Element& stage : *one.pipeline) {
      const std::string_view called = stage.is_object() ? stage.as_document().first().name : std::string_view();
      if (std::find(stages_allowed.begin(), stages_allowed.end(), called) == stages_allowed.end())
        throw OperationError(
            ErrorCode::bad_value,
            "'" + std::string(called) + "' is no stage of a commit's validator, which sees what changed and nothing else");
    }
    query::PipelineContext context(query::command_time_ms(op), &op);
    context.collection = name;
    const query::Pipeline parsed(*one.pipeline, context);
  }
}

void check_commit(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                  versions::CommitNumber before, versions::CommitNumber commit) {
  const bson::Document validators = database.commit_validators(transaction);
  if (validators.view().empty() || op.request().body["bypassDocumentValidation"].truthy()) return;
  Violations violations;
  for (const bson::Element& given : validators.view()) {
    if (violations.full()) break;
    const std::string name(given.name);
    const auto shared = collection_of(database, name);
    if (!shared) continue;
    const versions::View seen = before == 0 ? versions::View{} : shared->view_of(transaction, before);
    const auto difference = shared->store.diff(transaction, seen, shared->view_of(transaction, commit));
    if (difference.only_b.empty()) continue;
    const auto documents = [&] {
      return std::make_unique<NewDocuments>(op, shared->store.scan_set(transaction, difference.only_b));
    };
    const Validator one = read(name, given);
    if (one.rules) check_rules(op, shared->base, name, *one.rules, *documents(), violations);
    if (one.pipeline) check_pipeline(op, shared->base, name, database.name(), *one.pipeline, documents(), violations);
  }
  if (violations.any()) violations.fail();
}

}  // namespace server::write
