// $acrossBranches returns every version of a document that some branch shows, once, with the branches that show it (Decibel's
// fourth query).
#include <algorithm>
#include <set>

#include "server/core/operation.h"
#include "server/query/branches/states.h"
#include "server/query/place_field.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

struct Plan {
  std::vector<std::string> refs;  // empty: all branches
  std::string as = "branches";
};

// Makes one pass over the records of all states.
class AcrossBranches final : public Stage {
 public:
  AcrossBranches(PipelineContext& context, const Plan& plan)
      : Stage(nullptr),
        op_(context.op),
        plan_(plan),
        states_(*context.op, branched_database(*context.op, context.db)),
        collection_(*context.op, states_, context.collection),
        names_(plan.refs) {
    (void)states_.place(versions::ref_of_database(context.db));
    std::vector<versions::Place> places;
    for (const std::string& ref : plan.refs) places.push_back(states_.place(versions::parse_ref(ref)));
    if (plan.refs.empty()) {
      for (versions::Branch& branch : states_.branches().graph().branches(states_.transaction())) {
        names_.push_back(branch.name);
        const versions::CommitNumber head = branch.head;
        places.push_back({std::move(branch), head});
      }
    }
    if (!collection_) return;
    std::vector<versions::View> views;
    for (const versions::Place& place : places) {
      op_->check_interrupt();
      views.push_back(states_.view(*collection_.shared, place));
    }
    scan_ = collection_.store().scan_many(states_.transaction(), views);
  }

  bool next() override {
    op_->check_interrupt();
    if (!scan_ || !scan_->next()) return false;
    if (scan_->shown_in() != shown_in_) name(scan_->shown_in());
    document_ = with_field_at(DocumentView(scan_->content()), plan_.as, shown_);
    return true;
  }
  DocumentView document() override { return document_; }
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }

 private:
  // Neighbours are mostly on the same branches.
  void name(const std::vector<uint64_t>& shown_in) {
    shown_in_ = shown_in;
    bson::ArrayBuilder out;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (shown_in[i / 64] >> (i % 64) & 1) out.append(names_[i]);
    }
    shown_ = out.done_value();
  }

  OperationContext* op_;  // nullptr between batches
  const Plan& plan_;
  States states_;
  Versioned collection_;
  std::vector<std::string> names_;
  std::unique_ptr<versions::ManyScan> scan_;
  std::vector<uint64_t> shown_in_;  // the branches that `shown_` names
  bson::Value shown_;
  bson::Document document_;
};

class AcrossBranchesSpec final : public SourceSpec {
 public:
  AcrossBranchesSpec(const Element& specification, Plan plan)
      : SourceSpec(specification.name, specification), plan_(std::move(plan)) {}
  StagePtr start(StagePtr, PipelineContext& context) const override { return std::make_unique<AcrossBranches>(context, plan_); }

 private:
  const Plan plan_;
};

}  // namespace

StageSpecPtr parse_across_branches(const Element& specification, PipelineContext&) {
  const Arguments arguments = arguments_of(specification);
  arguments.only({"branches", "as"});
  Plan plan;
  if (const auto branches = arguments.array("branches")) {
    std::set<std::string> known;
    for (const Element& branch : *branches) {
      if (!branch.is_string())
        refuse(base::ErrorCode::type_mismatch,
               "$acrossBranches.branches must be an array of strings, but has a " + type_of(branch));
      plan.refs.emplace_back(branch.as_string());
      versions::parse_ref(plan.refs.back());
      if (!known.insert(plan.refs.back()).second)
        refuse(base::ErrorCode::bad_value, "$acrossBranches.branches names '" + plan.refs.back() + "' twice");
    }
    if (plan.refs.empty()) refuse(base::ErrorCode::bad_value, "$acrossBranches.branches must name at least one branch");
  }
  if (const auto as = arguments.string("as")) {
    check_field_path(*as);
    plan.as = *as;
  }
  return std::make_unique<AcrossBranchesSpec>(specification, std::move(plan));
}

}  // namespace server::query
