// $lookup and $graphLookup put the documents that they find for a document into an array of it.
//
//   {_id: 1}  found: x, y     {_id: 1, as: [x, y]}
//                             {_id: 1, as: x} {_id: 1, as: y}      an $unwind of the array follows
//
// With the $unwind the array is never made, so what is found may have any size. They differ only in how they find.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"

namespace server::query {

// Finds what belongs to one document, one document at a time. The functions are like a stage's.
class Finding {
 public:
  virtual ~Finding() = default;
  virtual bool next() = 0;
  virtual bson::DocumentView document() = 0;
  virtual void begin(OperationContext& op) = 0;
  virtual void end() = 0;
};

// Finds what a pipeline returns.
class Subquery final : public Finding {
 public:
  // `stages` is an array's elements, and `inner` their context.
  Subquery(std::unique_ptr<PipelineContext> inner, bson::Document stages);
  bool next() override { return stage_->next(); }
  bson::DocumentView document() override { return stage_->document(); }
  void begin(OperationContext& op) override;
  void end() override { stage_->end(); }

 private:
  std::unique_ptr<PipelineContext> inner_;
  bson::Document stages_;
  Pipeline pipeline_;
  StagePtr stage_;
};

class JoiningSpec : public PlainSpec, public Joining {
 public:
  JoiningSpec(const bson::Element& specification, std::string as)
      : PlainSpec(specification.name, specification), as_(std::move(as)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const final;
  bson::Document explain() const final;
  std::string_view joined_path() const final { return as_; }
  void unwind(const Unwinding& how) final { each_ = EachFound{std::string(how.index_field()), how.keeps_empty()}; }

  // `frame` and `context` are the running stage's, and stay valid as long as the Finding.
  virtual std::unique_ptr<Finding> find(const bson::Document& document, Frame& frame, PipelineContext& context) const = 0;
  // Throws the error for an array that the document has no room for.
  [[noreturn]] virtual void refuse_array(size_t bytes_max) const = 0;

 private:
  // EachFound has the options of the $unwind.
  struct EachFound {
    std::string index_field;  // empty: none
    bool keep_empty = false;
  };
  class Joined;
  class Unwound;

  std::string as_;
  std::optional<EachFound> each_;
};

}  // namespace server::query
