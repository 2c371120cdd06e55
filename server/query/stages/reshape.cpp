// This file has $project, $addFields ($set), $unset, $replaceRoot ($replaceWith)
// and $redact.
#include "server/core/text.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "server/query/stages/transform.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

class TransformStage final : public MapStage {
 public:
  TransformStage(StagePtr source, const Transform& transform, const Scope& scope)
      : MapStage(std::move(source)), transform_(transform), frame_(scope) {}

 private:
  bool take(DocumentView document) override {
    frame_.begin(document);
    out_ = transform_.apply(document, frame_);
    frame_.keep(0, out_.size());
    return true;
  }
  const Transform& transform_;
  Frame frame_;
};

StageSpecPtr transform_spec(const Element& specification, Transform transform) {
  return make_spec(specification, [transform = std::move(transform)](StagePtr source, PipelineContext& context) -> StagePtr {
    return std::make_unique<TransformStage>(std::move(source), transform, context.scope);
  });
}

class ReplaceRoot final : public MapStage {
 public:
  ReplaceRoot(StagePtr source, const Expression& root, const Scope& scope)
      : MapStage(std::move(source)), root_(root), frame_(scope) {}

 private:
  bool take(DocumentView document) override {
    frame_.begin(document);
    Value scratch;
    const ValueView value = root_.view(frame_, scratch);
    if (!value.is_object()) {
      refuse(40228, "'newRoot' expression must evaluate to an object, but resulting value was: " +
                        (value.exists() ? show(value) : std::string("MISSING")) + ". Type of resulting value: '" +
                        type_of(value) + "'. Input document: " + show(document));
    }
    out_ = bson::Document(value.as_document());
    frame_.keep(0, out_.size());
    return true;
  }
  const Expression& root_;
  Frame frame_;
};

// Applies $redact's rule to one document, and counts what it makes of it.
class Redaction {
 public:
  Redaction(const Expression& rule, size_t current, Frame& frame, const bson::Builder& whole)
      : rule_(rule), current_(current), frame_(frame), growth_(frame.growth()), whole_(whole) {}

  enum class Verdict { keep, prune, descend };
  Verdict verdict(DocumentView document) {
    frame_.work_on(document.size());
    const size_t held = frame_.held();
    frame_.hold(document.size());
    frame_.slots[current_] = Value(document);
    const Value said = rule_.evaluate(frame_);
    frame_.slots[current_] = Value();
    frame_.keep(held, 0);
    const std::string_view word = said.type() == bson::Type::string ? said.view().as_string() : "";
    if (word == "KEEP") return Verdict::keep;
    if (word == "PRUNE") return Verdict::prune;
    if (word == "DESCEND") return Verdict::descend;
    refuse(17053,
           "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but "
           "returned " +
               type_of(said));
  }

  // Appends what is left of a document that the rule descends into.
  void descend(DocumentView document, bson::Builder& out) {
    for (const Element& field : document) {
      count();
      if (field.is_object()) {
        const Verdict said = verdict(field.as_document());
        if (said == Verdict::keep) out.append_element(field);
        if (said != Verdict::descend) continue;
        bson::Builder below = out.object(field.name);
        descend(field.as_document(), below);
      } else if (field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        descend(field.as_document(), below);
      } else {
        out.append_element(field);
      }
    }
  }

  void account() { growth_.reach(whole_.size()); }

 private:
  void descend(DocumentView array, bson::ArrayBuilder& out) {
    for (const Element& element : array) {
      count();
      if (element.is_object()) {
        const Verdict said = verdict(element.as_document());
        if (said == Verdict::keep) out.append(static_cast<const ValueView&>(element));
        if (said != Verdict::descend) continue;
        bson::Builder below = out.object();
        descend(element.as_document(), below);
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        descend(element.as_document(), below);
      } else {
        out.append(static_cast<const ValueView&>(element));
      }
    }
  }

  void count() {
    frame_.work();
    account();
  }

  const Expression& rule_;
  const size_t current_;
  Frame& frame_;
  Growth growth_;
  const bson::Builder& whole_;  // in which the others write
};

class Redact final : public MapStage {
 public:
  Redact(StagePtr source, const Expression& rule, int current, const Scope& scope)
      : MapStage(std::move(source)), rule_(rule), current_(static_cast<size_t>(current)), frame_(scope) {}

 private:
  bool take(DocumentView document) override {
    out_ = bson::Document();
    frame_.begin(document);
    bson::Builder out;
    Redaction redaction(rule_, current_, frame_, out);
    const Redaction::Verdict verdict = redaction.verdict(document);
    if (verdict == Redaction::Verdict::prune) return false;
    if (verdict == Redaction::Verdict::keep) {
      frame_.keep(0, document.size());
      out_ = bson::Document(document);
      return true;
    }
    redaction.descend(document, out);
    redaction.account();
    out_ = out.done();
    frame_.keep(0, out_.size());
    return true;
  }

  const Expression& rule_;
  const size_t current_;
  Frame frame_;
};

}  // namespace

StageSpecPtr parse_project(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(15969, "$project specification must be an object");
  return transform_spec(specification, Transform::project("$project", specification.as_document(), context.scope));
}

StageSpecPtr parse_add_fields(const Element& specification, PipelineContext& context) {
  const std::string name(specification.name);
  if (!specification.is_object()) refuse(40272, name + " specification stage must be an object, got " + type_of(specification));
  return transform_spec(specification, Transform::add_fields(name, specification.as_document(), context.scope));
}

StageSpecPtr parse_unset(const Element& specification, PipelineContext&) {
  std::vector<std::string> paths;
  if (specification.is_string()) {
    paths.emplace_back(specification.as_string());
  } else if (specification.is_array()) {
    for (const Element& path : specification.as_document()) {
      if (!path.is_string()) refuse(31120, "$unset specification must be a string or an array containing only string values");
      paths.emplace_back(path.as_string());
    }
    if (paths.empty()) refuse(31119, "$unset specification must be a string or an array with at least one field");
  } else {
    refuse(31002, "$unset specification must be a string or an array");
  }
  return transform_spec(specification, Transform::unset("$unset", paths));
}

StageSpecPtr parse_replace_root(const Element& specification, PipelineContext& context) {
  ValueView root = specification;
  if (specification.name == "$replaceRoot") {
    if (!specification.is_object())
      refuse(40229, "expected an object as specification for $replaceRoot stage, got " + type_of(specification));
    for (const Element& field : specification.as_document()) {
      if (field.name != "newRoot") {
        refuse(40415, "BSON field '$replaceRoot." + std::string(field.name) + "' is an unknown field.");
      }
    }
    root = specification.as_document()["newRoot"];
    if (!root.exists()) refuse(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field");
  }
  return make_spec(specification,
                   [expression = std::shared_ptr<Expression>(parse_expression(root, context.scope))](
                       StagePtr source, PipelineContext& running) -> StagePtr {
                     return std::make_unique<ReplaceRoot>(std::move(source), *expression, running.scope);
                   });
}

StageSpecPtr parse_redact(const Element& specification, PipelineContext& context) {
  const int current = context.scope.enter("CURRENT");
  std::shared_ptr<Expression> rule = parse_expression(specification, context.scope);
  context.scope.leave();
  return make_spec(specification, [rule, current](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<Redact>(std::move(source), *rule, current, running.scope);
  });
}

}  // namespace server::query
