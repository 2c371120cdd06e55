// $diff returns the documents of the collection that two states of the database
// show differently.
#include "server/query/branches/differences.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

class Diff final : public Stage {
 public:
  Diff(PipelineContext& context, const Differences::What& what)
      : Stage(nullptr), differences_(*context.op, branched_database(*context.op, context.db), what, context.allowance) {}
  bool next() override {
    if (!differences_.next()) return false;
    without_.reset();
    if (differences_.document().size() > bson::document_bytes_max) without_ = too_large(differences_.document());
    return true;
  }
  DocumentView document() override { return without_ ? without_->view() : differences_.document(); }
  void begin(OperationContext& op) override { differences_.begin(op); }
  void end() override { differences_.end(); }

 private:
  Differences differences_;
  std::optional<bson::Document> without_;  // a difference that is too large, without its documents
};

// Takes the conditions of a filter that are over _id and nothing else.
void take_ids(DocumentView filter, bson::ArrayBuilder& out) {
  for (const Element& condition : filter) {
    if (condition.name == "_id" || condition.name.starts_with("_id.")) {
      bson::Builder one = out.object();
      one.append_element(condition);
    } else if (condition.name == "$and" && condition.is_array()) {
      for (const Element& inner : condition.as_document()) take_ids(inner.as_document(), out);
    }
  }
}

class DiffSpec final : public SourceSpec, public Narrowing {
 public:
  DiffSpec(const Element& specification, Differences::What what, bool collates)
      : SourceSpec(specification.name, specification),
        shown_(specification.as_document()),
        what_(std::move(what)),
        collates_(collates) {}
  StagePtr start(StagePtr, PipelineContext& context) const override { return std::make_unique<Diff>(context, what_); }

  // Differences know documents by the bytes of their _id, of which a collation may take several for one.
  void narrow(DocumentView filter) override {
    if (collates_) return;
    bson::ArrayBuilder ids;
    take_ids(filter, ids);
    const bson::Value all = ids.done_value();
    if (all.view().as_document().empty()) return;
    bson::Builder both;
    both.append("$and", all);
    what_.ids = both.done();
  }

  bson::Document explain() const override {
    bson::Builder out;
    {
      bson::Builder stage = out.object("$diff");
      stage.append_all(shown_.view());
      if (!what_.ids.empty()) stage.append("filter", what_.ids).append("by", Differences::by_key(what_.ids) ? "_id" : "records");
    }
    return out.done();
  }

 private:
  const bson::Document shown_;
  Differences::What what_;
  const bool collates_;
};

}  // namespace

StageSpecPtr parse_diff(const Element& specification, PipelineContext& context) {
  const Arguments arguments = arguments_of(specification);
  arguments.only({"from", "to", "fields"});
  Differences::What what = Differences::between(arguments, context.db);
  what.collection = context.collection;
  if (const auto fields = arguments.array("fields")) {
    for (const Element& field : *fields) {
      if (!field.is_string())
        refuse(base::ErrorCode::type_mismatch, "$diff.fields must be an array of strings, but has a " + type_of(field));
      check_field_path(field.as_string());
      what.fields.emplace_back(field.as_string());
    }
    if (what.fields.empty()) refuse(base::ErrorCode::bad_value, "$diff.fields must name at least one path");
    Differences::check_fields(what.fields, context.allowance);
  }
  return std::make_unique<DiffSpec>(specification, std::move(what), context.scope.collator() != nullptr);
}

}  // namespace server::query
