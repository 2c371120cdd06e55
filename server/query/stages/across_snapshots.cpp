// $acrossSnapshots runs a pipeline over the collection as each snapshot of a range shows it (Retro's map, Skippy §4.5). A $group
// after it reduces.
#include <algorithm>

#include "replication/optime.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/place_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using versions::past::DeclaredSnapshot;

namespace {

struct Plan {
  std::optional<std::string> from, to;  // nullopt: the first and the last snapshot
  bson::Document stages;
  std::string as = "snapshot";
};

constexpr size_t jointly = 32;  // the tables of this many snapshots are made in one pass over the log of the past

versions::past::Past& past_of(const PipelineContext& context) {
  versions::past::Past* const past = context.op->services().past;
  if (!past) refuse(base::ErrorCode::illegal_operation, "this server keeps no snapshots");
  return *past;
}

DeclaredSnapshot named(versions::past::Past& past, const std::string& ref) {
  const auto snapshot = past.snapshots().find(ref);
  if (!snapshot) refuse(base::ErrorCode::namespace_not_found, "there is no snapshot '" + ref + "'");
  return *snapshot;
}

// The database, or the branch of one, that is read, whatever snapshot the name says.
struct Home {
  std::string db;
  bool gone = false;  // a branch that doesn't exist now; snapshots may have it
};
Home home_of(const PipelineContext& context) {
  const versions::DatabaseName name = versions::split_name(context.db);
  const std::string home(name.database);
  if (!name.ref) return {home};
  if (const size_t behind = name.ref->find('@'); behind != name.ref->npos)
    return {home + "@" + std::string(name.ref->substr(0, behind))};
  const versions::Ref ref = versions::parse_ref(*name.ref);
  const auto database = context.op->services().databases->find(home);
  if (!database) return {home};
  storage::Transaction transaction(*context.op->services().store, storage::Transaction::Mode::read);
  try {
    if (database->place(transaction, ref).branch) return {context.db};
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::namespace_not_found || !ref.steps.empty()) throw;
    if (past_of(context).snapshots().find(ref.name)) return {home};
    return {context.db, true};
  }
  refuse(base::ErrorCode::illegal_operation, "a commit is the same in all snapshots: " + context.db);
}

class AcrossSnapshots final : public Stage {
 public:
  AcrossSnapshots(PipelineContext& context, const Plan& plan) : AcrossSnapshots(context, plan, home_of(context)) {}

  AcrossSnapshots(PipelineContext& context, const Plan& plan, const Home& home)
      : Stage(nullptr),
        plan_(plan),
        context_(context),
        past_(past_of(context)),
        db_(home.db),
        snapshots_(past_.snapshots().all()) {
    const auto from = plan.from ? std::optional(named(past_, *plan.from)) : std::nullopt;
    const auto to = plan.to ? std::optional(named(past_, *plan.to)) : std::nullopt;
    if (from && to && from->stamp > to->stamp) {
      refuse(base::ErrorCode::bad_value,
             "$acrossSnapshots: 'from' ('" + from->text() + "') is newer than 'to' ('" + to->text() + "')");
    }
    std::erase_if(snapshots_,
                  [&](const auto& one) { return (from && one.stamp < from->stamp) || (to && one.stamp > to->stamp); });
    if (home.gone && std::none_of(snapshots_.begin(), snapshots_.end(), [&](const auto& one) { return is_there(one); })) {
      refuse(base::ErrorCode::namespace_not_found,
             "there is no branch, tag or snapshot behind '" + db_ + "', nor was one in these snapshots");
    }
  }

  bool next() override {
    for (;;) {
      context_.op->check_interrupt();
      if (inner_ && inner_->next()) {
        document_ = with_field_at(inner_->document(), plan_.as, shown_);
        return true;
      }
      if (inner_) {
        inner_.reset();
        ++at_;
      }
      while (at_ < snapshots_.size() && !is_there(snapshots_[at_])) ++at_;
      show_progress();
      if (at_ == snapshots_.size()) return false;
      begin_snapshot();
    }
  }
  DocumentView document() override { return document_; }
  void begin(OperationContext& op) override {
    context_.op = &op;
    show_progress();
    if (!inner_) return;
    inner_context_->op = &op;
    inner_->begin(op);
  }
  void end() override {
    if (inner_) inner_->end();
  }

 private:
  std::string name_in(const DeclaredSnapshot& snapshot) const { return versions::name_in_snapshot(db_, snapshot.number); }
  // A branch need not be in all snapshots; but a snapshot that was dropped meanwhile must not be left out unnoticed.
  bool is_there(const DeclaredSnapshot& snapshot) const {
    if (!past_.snapshots().find(snapshot.number))
      refuse(base::ErrorCode::query_plan_killed, "snapshot dropped: '" + snapshot.text() + "'");
    try {
      context_.op->services().store->catalog().open(name_in(snapshot) + "." + context_.collection);
      return true;
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::namespace_not_found) throw;
      return false;
    }
  }
  void show_progress() const {
    context_.op->set_plan_summary("ACROSS_SNAPSHOTS");
    context_.op->set_progress({"Reading snapshots", static_cast<int64_t>(at_), static_cast<int64_t>(snapshots_.size())});
  }
  void begin_snapshot() {
    const DeclaredSnapshot& snapshot = snapshots_[at_];
    pipeline_.reset();
    const std::string db = name_in(snapshot);
    if (at_ >= warm_below_) warm(db);
    inner_context_ = nested_context(context_, context_.collection, db);
    inner_context_->hint = context_.hint;
    inner_context_->as_it_was = true;
    pipeline_ = std::make_unique<Pipeline>(plan_.stages, *inner_context_);
    inner_ = pipeline_->start();
    bson::Builder out;
    out.append("snapshot", snapshot.text()).append("number", static_cast<int64_t>(snapshot.number));
    out.append("time", bson::Date{snapshot.time_ms}).append("clusterTime", replication::timestamp_of(snapshot.stamp));
    shown_ = Value(out.done());
  }
  void warm(const std::string& db) {
    const auto collection = context_.op->services().store->catalog().open(db + "." + context_.collection);
    if (!collection) return;
    std::vector<storage::Stamp> range;
    warm_below_ = std::min(snapshots_.size(), at_ + jointly);
    for (size_t i = at_; i < warm_below_; ++i) range.push_back(snapshots_[i].stamp);
    storage::Transaction transaction(*context_.op->services().store, storage::Transaction::Mode::read);
    past_.warm(transaction, collection->id(), range);
  }

  const Plan& plan_;
  PipelineContext& context_;
  versions::past::Past& past_;
  const std::string db_;
  std::vector<DeclaredSnapshot> snapshots_;
  size_t at_ = 0;          // the snapshot that is read; those before are done
  size_t warm_below_ = 0;  // the tables of snapshots below it are made
  std::unique_ptr<PipelineContext> inner_context_;
  std::unique_ptr<Pipeline> pipeline_;
  StagePtr inner_;
  Value shown_;
  bson::Document document_;
};

class AcrossSnapshotsSpec final : public SourceSpec {
 public:
  AcrossSnapshotsSpec(const Element& specification, Plan plan)
      : SourceSpec(specification.name, specification), plan_(std::move(plan)) {}
  StagePtr start(StagePtr, PipelineContext& context) const override { return std::make_unique<AcrossSnapshots>(context, plan_); }

 private:
  const Plan plan_;
};

}  // namespace

StageSpecPtr parse_across_snapshots(const Element& specification, PipelineContext& context) {
  const Arguments arguments = arguments_of(specification);
  arguments.only({"from", "to", "pipeline", "as"});
  past_of(context);
  Plan plan;
  plan.from = arguments.string("from");
  plan.to = arguments.string("to");
  if (const auto stages = arguments.array("pipeline")) plan.stages = bson::Document(*stages);
  if (const auto as = arguments.string("as")) {
    check_field_path(*as);
    plan.as = *as;
  }
  auto inner = nested_context(context, context.collection);
  const Pipeline checked(plan.stages, *inner);
  refuse_output(checked, "$acrossSnapshots", 51047);
  return std::make_unique<AcrossSnapshotsSpec>(specification, std::move(plan));
}

}  // namespace server::query
