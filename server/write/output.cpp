#include "server/write/output.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/path.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/matcher.h"
#include "server/query/series/bucket_index.h"
#include "server/query/series/series_arguments.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/insert.h"
#include "server/write/namespaces.h"
#include "server/write/replacement.h"
#include "server/write/statements.h"
#include "server/write/storable.h"
#include "server/write/target.h"
#include "server/write/update/update.h"
#include "storage/collections/catalog.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using query::OutputDocument;
using query::OutputPlan;
using WhenMatched = OutputPlan::WhenMatched;
using WhenNotMatched = OutputPlan::WhenNotMatched;

namespace {

constexpr int no_matching_document = 13113;
constexpr int log_left_behind = 7200401;

// Inserts all documents or, if one can't be inserted, those before it.
void insert_all(OperationContext& op, const std::string& ns, const std::vector<bson::DocumentView>& documents) {
  std::vector<bson::Document> storable;
  storable.reserve(documents.size());
  for (const auto& document : documents) {
    auto repaired = make_storable(document, unique_timestamp(op));
    storable.push_back(repaired ? std::move(*repaired) : bson::Document(document));
  }
  const Target target = Target::open_or_create(op, ns);
  DocumentWriter writer(op, target);
  const auto failure = run_batch(op, storable.size(),
                                 [&](storage::Transaction& transaction, size_t i) { writer.insert(transaction, storable[i]); });
  if (failure) std::rethrow_exception(failure->error);
}

void insert_all(OperationContext& op, const std::string& ns, const std::vector<OutputDocument>& documents) {
  std::vector<bson::DocumentView> views;
  for (const auto& one : documents) views.push_back(one.document);
  insert_all(op, ns, views);
}

void check_not_capped(const storage::Collection& target) {
  if (target.options().capped)
    throw OperationError(17152, "namespace '" + target.ns() + "' is capped so it can't be used for $out");
}

// Returns the options of the time series that $out writes; nullopt: it writes a plain collection.
std::optional<query::SeriesOptions> target_series(OperationContext& op, const OutputPlan& plan) {
  const auto view = query::find_view(op, plan.ns());
  if (!plan.series) return view ? view->series : std::nullopt;
  if (view && !view->series) throw OperationError(7268703, "Cannot create a time-series collection from a non time-series view.");
  if (!view && store_of(op).catalog().find(plan.ns()))
    throw OperationError(7268700, "Cannot create a time-series collection from a non time-series collection.");
  if (view && view->series->document().bytes() != plan.series->document().bytes()) {
    throw OperationError(7406103, "Time-series options inputted must match the existing time-series collection. Received: " +
                                      bson::to_shell(plan.series->document()) +
                                      "Found: " + bson::to_shell(view->series->document()));
  }
  return plan.series;
}

// This sink writes another collection, which at the end takes the name of the one that it replaces.
class OutSink final : public query::DocumentSink {
 public:
  OutSink(OperationContext& op, const OutputPlan& plan, const std::optional<query::SeriesOptions>& series)
      : op_(op),
        catalog_(store_of(op).catalog()),
        is_series_(series.has_value()),
        target_(series ? query::buckets_of(plan.ns()) : plan.ns()) {
    storage::CollectionOptions options;
    std::vector<storage::IndexSpec> indexes;
    if (series) options.document = query::buckets_options(*series, {});
    if (series && !series->meta_field.empty()) indexes = {storage::parse_index_spec(query::default_index(*series))};
    if (const auto existing = catalog_.open(target_)) {
      check_not_capped(*existing);
      begun_over_ = Shape(*existing);
      options = existing->options();
      indexes = secondary_indexes(*existing);
    }
    written_ = plan.db + "." + unfinished_name();
    const std::string name = series ? query::buckets_of(written_) : written_;
    const auto made = catalog_.create(name, options);
    unfinished_ = name;
    try {
      if (!indexes.empty()) catalog_.create_indexes(made, indexes, {.interrupted = op.interrupted()});
    } catch (...) {
      take_back();
      throw;
    }
  }
  ~OutSink() override { take_back(); }

  void write(const std::vector<OutputDocument>& documents) override {
    if (!is_series_) return insert_all(op_, written_, documents);
    std::vector<bson::DocumentView> views;
    for (const auto& one : documents) views.push_back(one.document);
    const auto errors = insert_documents(op_, written_, views, {}).errors;
    if (errors.empty()) return;
    const bson::DocumentView first = errors.documents().front();
    throw OperationError(static_cast<int32_t>(first["code"].to_int64()), std::string(first["errmsg"].as_string()));
  }

  void finish() override {
    op_.check_interrupt();
    // The rename would undo what others changed in the target meanwhile, so this compares it when nobody can change it any more.
    const auto check_target = [this](storage::Collection*, storage::Collection* replaced) { check_as_it_was(replaced); };
    catalog_.rename(unfinished_, target_, true, check_target, {.interrupted = op_.interrupted()});
    unfinished_.clear();
  }

 private:
  // The new collection took this over from the target.
  struct Shape {
    bson::Document options;
    std::vector<bson::Document> indexes;

    Shape() = default;
    explicit Shape(const storage::Collection& collection) : options(collection.options().document) {
      for (const auto& spec : secondary_indexes(collection)) indexes.push_back(spec.document);
      std::sort(indexes.begin(), indexes.end(), [](const auto& a, const auto& b) { return a.bytes() < b.bytes(); });
    }
  };

  void check_as_it_was(const storage::Collection* target) const {
    const auto changed = [this](const std::string& what) {
      throw OperationError(ErrorCode::command_failed, what + " of target collection " + target_ + " changed during processing");
    };
    if ((target != nullptr) != begun_over_.has_value()) changed("indexes");
    if (!target) return;
    const Shape now(*target);
    const auto same = [](const auto& a, const auto& b) { return a.bytes() == b.bytes(); };
    if (!same(now.options, begun_over_->options)) changed("collection options");
    if (!std::equal(now.indexes.begin(), now.indexes.end(), begun_over_->indexes.begin(), begun_over_->indexes.end(), same))
      changed("indexes");
  }

  static std::vector<storage::IndexSpec> secondary_indexes(const storage::Collection& collection) {
    std::vector<storage::IndexSpec> specs;
    for (const auto& index : collection.indexes()) {
      if (!index->is_id() && index->ready()) specs.push_back(index->spec());
    }
    return specs;
  }
  void take_back() noexcept {
    if (unfinished_.empty()) return;
    const storage::InterruptibleWaits uninterrupted(nullptr);
    try {
      catalog_.drop(unfinished_);
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::command, log_left_behind,
                "An unfinished collection could not be dropped; the next start drops it",
                base::Attributes().add("namespace", unfinished_).add("error", error.what()));
    }
  }

  OperationContext& op_;
  storage::Catalog& catalog_;
  const bool is_series_;  // documents are measurements, and the collections below have their buckets
  const std::string target_;
  std::optional<Shape> begun_over_;  // nullopt: there was no target
  std::string written_;              // the name by which documents are inserted
  std::string unfinished_;           // empty: it is finished
};

// This sink writes to a branch.
class BranchOutSink final : public query::DocumentSink {
 public:
  BranchOutSink(OperationContext& op, const std::string& target) : op_(op), replacement_(op, target) {}

  void write(const std::vector<OutputDocument>& documents) override { insert_all(op_, replacement_.ns(), documents); }
  void finish() override {
    op_.check_interrupt();
    const auto alone = base::hold_exclusively(replacement_.collection()->schema_mutex(), op_.interrupted());
    replacement_.finish();
  }

 private:
  OperationContext& op_;
  Replacement replacement_;
};

// Returns whether the index identifies documents by `on`: it is unique, has these fields, covers all documents, and takes the
// same strings for equal as the pipeline.
bool serves(const storage::Index& index, const std::vector<std::string>& on, const bson::Collator* collator) {
  const auto& spec = index.spec();
  if (!bson::same_collation(spec.collator.get(), collator)) return false;
  if (!(spec.unique || index.is_id()) || !index.ready() || !spec.partial_filter.empty() || spec.fields.size() != on.size())
    return false;
  return std::all_of(spec.fields.begin(), spec.fields.end(),
                     [&](const auto& field) { return std::find(on.begin(), on.end(), field.path) != on.end(); });
}

class MergeSink final : public query::DocumentSink {
 public:
  MergeSink(OperationContext& op, const OutputPlan& plan) : op_(op), plan_(plan), ns_(plan.ns()) {
    check_writable(ns_);
    query::require_no_view(op, ns_);
    if (plan.when_matched == WhenMatched::pipeline) check_pipeline();
  }

  void write(const std::vector<OutputDocument>& documents) override {
    for (const OutputDocument& one : documents) {
      op_.check_interrupt();
      write_one(one);
    }
  }
  void finish() override {}

 private:
  // This runs before the first document is read: a faulty pipeline is refused even if nothing matches.
  void check_pipeline() const {
    bson::Builder constants;
    for (const std::string& name : plan_.variables) constants.append_null(name);
    if (std::find(plan_.variables.begin(), plan_.variables.end(), "new") == plan_.variables.end()) constants.append_null("new");
    const bson::Document values = constants.done();
    UpdateOptions options;
    options.constants = values;
    options.has_constants = true;
    options.collator = plan_.collator;
    options.op = &op_;
    Update::parse(bson::ValueView(bson::Type::array, plan_.pipeline.bytes()), options,
                  [](bson::DocumentView) { return Predicate(); });
  }

  void write_one(const OutputDocument& one) {
    bson::Document document = with_id(one.document);
    const bson::Document filter = filter_of(document);
    if (plan_.when_matched == WhenMatched::fail) return insert_all(op_, ns_, {document.view()});
    const bool inserts = plan_.when_not_matched == WhenNotMatched::insert;
    const bson::Document update = update_of(document);
    UpdateStatement statement;
    statement.selection.filter = filter;
    statement.selection.collation = plan_.collator;
    statement.update = plan_.when_matched == WhenMatched::pipeline ? bson::ValueView(bson::Type::array, plan_.pipeline.bytes())
                                                                   : bson::ValueView(bson::Type::object, update.bytes());
    if (plan_.when_matched == WhenMatched::pipeline) {
      statement.constants = one.variables;
      statement.has_constants = true;
    }
    // A pipeline changes an existing document; if there is none, the document itself is inserted.
    statement.upsert = inserts && plan_.when_matched != WhenMatched::pipeline;
    const UpdateOutcome outcome = updated(statement);
    if (outcome.matched > 0 || outcome.upserted_id) return;
    if (plan_.when_not_matched == WhenNotMatched::fail) {
      throw OperationError(no_matching_document,
                           "$merge could not find a matching document in the target collection for at least one document in the "
                           "source collection");
    }
    if (inserts) insert_or_update(statement, document);
  }

  UpdateOutcome updated(const UpdateStatement& statement) {
    try {
      return run_update(op_, ns_, statement);
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::immutable_field) throw;
      throw OperationError(error.code(),
                           std::string("$merge failed to update the matching document, did you attempt to modify the _id or the "
                                       "shard key? :: caused by :: ") +
                               error.what());
    }
  }

  void insert_or_update(const UpdateStatement& statement, const bson::Document& document) {
    try {
      insert_all(op_, ns_, {document.view()});
    } catch (const OperationError& error) {
      // Another client was faster: now there is a document to update, or the key belongs to another document.
      if (error.code() != ErrorCode::duplicate_key || updated(statement).matched == 0) throw;
    }
  }

  bson::Document with_id(const bson::Document& document) const {
    const bool wants = std::find(plan_.on.begin(), plan_.on.end(), "_id") != plan_.on.end();
    if (!wants || document.view().has("_id")) return document;
    auto made = make_storable(document, unique_timestamp(op_));
    return made ? std::move(*made) : document;
  }

  bson::Document filter_of(const bson::Document& document) const {
    bson::Builder filter;
    for (const std::string& path : plan_.on) {
      const bson::ValueView value = bson::value_at(document, path);
      if (value.is_nullish() || value.is_array()) {
        throw OperationError(51132, "$merge write error: 'on' field cannot be missing, null, undefined or an array");
      }
      bson::Builder condition = filter.object(path);
      condition.append("$eq", value);
    }
    return filter.done();
  }

  bson::Document update_of(const bson::Document& document) const {
    if (plan_.when_matched == WhenMatched::replace || plan_.when_matched == WhenMatched::pipeline) return document;
    bson::Builder update;
    update.append(plan_.when_matched == WhenMatched::merge ? "$set" : "$setOnInsert", document);
    return update.done();
  }

  OperationContext& op_;
  const OutputPlan& plan_;
  const std::string ns_;
};

}  // namespace

void check_unique(OperationContext& op, const OutputPlan& plan) {
  const auto collection = store_of(op).catalog().open(plan.ns());
  bool found = !collection && plan.on.size() == 1 && plan.on[0] == "_id";
  if (collection) {
    for (const auto& index : collection->indexes()) found |= serves(*index, plan.on, plan.collator.get());
  }
  if (!found) throw OperationError(51183, "Cannot find index to verify that join fields will be unique");
}

namespace {

std::unique_ptr<query::DocumentSink> waited(OperationContext& op, std::unique_ptr<query::DocumentSink> sink) {
  constexpr std::chrono::milliseconds pause(10);
  while (op.services().fail_points.strikes("outWaitAfterTempCollectionCreation")) {
    op.check_interrupt();
    std::this_thread::sleep_for(pause);
  }
  return sink;
}

}  // namespace

std::unique_ptr<query::DocumentSink> make_sink(OperationContext& op, const OutputPlan& plan) {
  op.begin_writing();
  if (plan.merge) return std::make_unique<MergeSink>(op, plan);
  check_writable(plan.ns());
  const auto series = target_series(op, plan);
  if (!series && query::find_view(op, plan.ns()))
    throw OperationError(ErrorCode::command_not_supported_on_view, "cannot $out to a view: " + plan.ns());
  if (Replacement::applies(op, plan.ns())) {
    if (series)
      throw OperationError(ErrorCode::command_not_supported, "$out to a time-series collection of a branch is not supported");
    if (const auto existing = store_of(op).catalog().find(plan.ns())) check_not_capped(*existing);
    return waited(op, std::make_unique<BranchOutSink>(op, plan.ns()));
  }
  return waited(op, std::make_unique<OutSink>(op, plan, series));
}

void drop_unfinished_output(storage::Store& store, versions::Databases& databases) {
  for (const auto& database : databases.all()) {
    std::vector<versions::Branch> branches;
    {
      storage::Transaction transaction(store, storage::Transaction::Mode::read);
      branches = database->branches().graph().branches(transaction);
    }
    for (const versions::Branch& branch : branches) {
      if (branch.name.starts_with(unfinished_prefix)) databases.drop_branch(*database, branch.name);
    }
  }
  storage::Catalog& catalog = store.catalog();
  for (const std::string& db : catalog.databases()) {
    for (const auto& collection : catalog.collections(db)) {
      const std::string ns = collection->ns();
      if (is_unfinished(ns)) catalog.drop(ns);
    }
  }
}

}  // namespace server::write
