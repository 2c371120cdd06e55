#include "server/query/stages/joining.h"

#include "server/core/operation.h"
#include "server/query/place_field.h"

namespace server::query {

using bson::DocumentView;
using bson::Value;

Subquery::Subquery(std::unique_ptr<PipelineContext> inner, bson::Document stages)
    : inner_(std::move(inner)), stages_(std::move(stages)), pipeline_(stages_, *inner_), stage_(pipeline_.start()) {}

void Subquery::begin(OperationContext& op) {
  inner_->op = &op;
  stage_->begin(op);
}

// Puts all that is found for a document into an array.
class JoiningSpec::Joined final : public Stage {
 public:
  Joined(StagePtr from, const JoiningSpec& spec, PipelineContext& context)
      : Stage(std::move(from)), spec_(spec), context_(context), frame_(context.scope), held_(context.allowance.memory()) {}

  bool next() override {
    if (!source().next()) return false;
    context_.op->check_interrupt();
    const bson::Document document(source().document());
    out_ = bson::Document();
    held_.set(0);
    out_ = with_field_at(document, spec_.as_, all_of(document));
    held_.set(out_.size());
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  Value all_of(const bson::Document& document) {
    const auto finding = spec_.find(document, frame_, context_);
    bson::ArrayBuilder found;
    while (finding->next()) {
      const DocumentView one = finding->document();
      if (document.size() + found.size() + one.size() > joined_bytes_max) spec_.refuse_array(joined_bytes_max);
      found.append(one);
      held_.set(document.size() + found.size());
    }
    return found.done_value();
  }
  // The document that gets the array is built as a whole, with names and lengths besides.
  static constexpr size_t joined_bytes_max = bson::buffer_bytes_max - (1 << 20);

  const JoiningSpec& spec_;
  PipelineContext& context_;
  Frame frame_;
  Held held_;  // out_, or what is found so far
  bson::Document out_;
};

// Returns a document for each one that is found, so their number has no limit.
class JoiningSpec::Unwound final : public Stage {
 public:
  Unwound(StagePtr from, const JoiningSpec& spec, PipelineContext& context)
      : Stage(std::move(from)), spec_(spec), context_(context), frame_(context.scope), held_(context.allowance.memory()) {}

  bool next() override {
    for (;;) {
      if (!finding_) {
        if (!source().next()) return false;
        context_.op->check_interrupt();
        document_ = bson::Document(source().document());
        finding_ = spec_.find(document_, frame_, context_);
        found_ = 0;
      }
      if (finding_->next()) {
        context_.allowance.work_on(document_.size());
        emit(Value(finding_->document()), Value(found_++));
        return true;
      }
      finding_.reset();
      if (found_ > 0 || !spec_.each_->keep_empty) continue;
      emit(Value(), Value::null());
      return true;
    }
  }
  DocumentView document() override { return out_; }
  void begin(OperationContext& op) override {
    Stage::begin(op);
    if (finding_) finding_->begin(op);
  }
  void end() override {
    if (finding_) finding_->end();
    Stage::end();
  }

 private:
  void emit(const Value& found, const Value& index) {
    out_ = with_field_at(document_, spec_.as_, found);
    if (!spec_.each_->index_field.empty()) out_ = with_field_at(out_, spec_.each_->index_field, index);
    held_.set(document_.size() + out_.size());
  }

  const JoiningSpec& spec_;
  PipelineContext& context_;
  Frame frame_;
  Held held_;  // document_ and out_
  bson::Document document_;
  std::unique_ptr<Finding> finding_;  // for document_; nullptr: it has no more
  int64_t found_ = 0;
  bson::Document out_;
};

StagePtr JoiningSpec::start(StagePtr source, PipelineContext& context) const {
  if (each_) return std::make_unique<Unwound>(std::move(source), *this, context);
  return std::make_unique<Joined>(std::move(source), *this, context);
}

bson::Document JoiningSpec::explain() const {
  const bson::Document plain = PlainSpec::explain();
  if (!each_) return plain;
  bson::Builder out;
  {
    bson::Builder stage = out.object(name());
    stage.append_all(plain.view().first().as_document());
    bson::Builder unwinding = stage.object("unwinding");
    unwinding.append("preserveNullAndEmptyArrays", each_->keep_empty);
    if (!each_->index_field.empty()) unwinding.append("includeArrayIndex", each_->index_field);
  }
  return out.done();
}

}  // namespace server::query
