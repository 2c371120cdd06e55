#include "server/write/statements.h"

#include "base/error.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/expressions/now.h"
#include "server/query/matcher.h"
#include "server/query/reader.h"
#include "server/query/series/bucket.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/measurements.h"
#include "server/write/retry.h"
#include "server/write/storable.h"
#include "server/write/target.h"
#include "server/write/update/update.h"
#include "storage/engine/transaction.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

PredicateCompiler predicate_compiler(const query::ParseContext& context) {
  return [context](bson::DocumentView filter) -> Predicate {
    std::shared_ptr<const query::Matcher> matcher = query::Matcher::parse(filter, context);
    return [matcher](bson::DocumentView document) { return matcher->matches(document); };
  };
}

// A filter with $expr doesn't say which values an upsert's document begins with.
void check_upsert_filter(const OperationContext& op, bson::DocumentView filter, const bson::CollatorPtr& collator) {
  constexpr auto query_feature_not_allowed = static_cast<ErrorCode>(224);
  query::ParseContext context = query::filter_context(op, {}, collator);
  context.expressions = nullptr;
  try {
    query::Matcher::parse(filter, context);
  } catch (const OperationError& error) {
    if (error.code() != query_feature_not_allowed) throw;
    throw OperationError(query_feature_not_allowed, "$expr is not allowed in the query predicate for an upsert");
  }
}

class UpdateRun {
 public:
  UpdateRun(OperationContext& op, std::string_view ns, const UpdateStatement& statement)
      : op_(op), ns_(ns), statement_(statement), selection_(statement.selection) {
    buckets_of_ = query::series_of_buckets(op, std::string(ns));
    selection_.collation = query::collator_for(op, std::string(ns), selection_.collation);
    context_ = query::parse_context(op, selection_.let, *selection_.collation);
    if (statement.selection.all && !statement.selection.sort.empty()) {
      throw OperationError(ErrorCode::failed_to_parse, "Cannot specify sort with multi=true");
    }
    UpdateOptions options;
    options.array_filters = statement.array_filters;
    options.has_array_filters = statement.has_array_filters;
    options.multi = statement.selection.all;
    options.constants = statement.constants;
    options.has_constants = statement.has_constants;
    options.let = statement.selection.let;
    options.collator = context_.collator;
    options.keep_empty_timestamps = statement.keep_empty_timestamps;
    options.op = &op;
    if (statement.upsert_supplied) check_supplied();
    update_ = Update::parse(statement.update, options, predicate_compiler(context_));
    if (statement.upsert) check_upsert_filter(op, statement.selection.filter, context_.collator);
  }

  UpdateOutcome run() {
    for (bool lost_race = false;; lost_race = true) {
      UpdateOutcome outcome = update_matching();
      if (outcome.matched > 0 || !statement_.upsert) return outcome;
      try {
        upsert(outcome);
        return outcome;
      } catch (const OperationError& error) {
        // Another upsert was faster: now there is a document to update. If there isn't, the key belongs to a document that the
        // query doesn't match.
        if (error.code() != ErrorCode::duplicate_key || lost_race || op_.transaction) throw;
        op_.check_interrupt();
      }
    }
  }

 private:
  Application application() const {
    Application application;
    application.now_ms = query::command_time_ms(op_);
    application.timestamp = unique_timestamp(op_);
    application.allowance = &op_.allowance();
    return application;
  }

  UpdateOutcome update_matching() {
    auto changed =
        change_matching(op_, ns_, selection_, [&](storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
          return update_one(transaction, writer, match);
        });
    UpdateOutcome outcome;
    outcome.matched = changed.matched;
    outcome.modified = changed.modified;
    outcome.before = std::move(changed.before);
    outcome.after = std::move(changed.after);
    return outcome;
  }

  Effect update_one(storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
    Application application = this->application();
    application.document = match.document;
    application.matched = match.position;
    auto after = update_->apply(application);
    if (after && buckets_of_) query::check_bucket(*buckets_of_, *after);
    Effect effect;
    effect.modified = after.has_value();
    if (statement_.keep_before) effect.before = statement_.keep_before(match.document);
    if (statement_.keep_after) effect.after = statement_.keep_after(after ? after->view() : match.document);
    if (after) writer.update(transaction, match.record, match.document, *after, form_of(application));
    return effect;
  }

  replication::UpdateForm form_of(Application& application) const {
    if (update_->kind() == Update::Kind::replacement) return replication::UpdateForm::replacement;
    if (update_->kind() == Update::Kind::pipeline) return replication::UpdateForm::smallest;
    return {.whole = std::move(application.whole)};
  }

  void check_supplied() const {
    if (!statement_.upsert)
      throw OperationError(ErrorCode::failed_to_parse, "cannot specify 'upsertSupplied: true' for a non-upsert operation");
    if (!statement_.constants.find("new").is_object()) {
      throw OperationError(ErrorCode::failed_to_parse,
                           "the parameter 'upsertSupplied' is set to 'true', but no document was supplied");
    }
  }

  bson::Document supplied() const {
    const bson::DocumentView given = statement_.constants.find("new").as_document();
    auto repaired = make_storable(given, std::nullopt);
    return repaired ? std::move(*repaired) : bson::Document(given);
  }

  void upsert(UpdateOutcome& outcome) {
    Application application = this->application();
    const auto matcher = query::Matcher::parse(statement_.selection.filter,
                                               query::filter_context(op_, statement_.selection.let, context_.collator));
    bson::Document document = statement_.upsert_supplied ? supplied() : update_->make_upsert(matcher->equalities(), application);
    if (buckets_of_) query::check_bucket(*buckets_of_, document);
    if (statement_.keep_after) outcome.after = statement_.keep_after(document);
    const Target target = Target::open_or_create(op_, ns_);
    DocumentWriter writer(op_, target);
    in_own_or_draft(op_, [&](storage::Transaction& transaction) { writer.insert(transaction, document); });
    outcome.upserted_id = bson::Value(document.find("_id"));
  }

  OperationContext& op_;
  std::string_view ns_;
  const UpdateStatement& statement_;
  Selection selection_;  // the statement's, with the collation that applies
  query::ParseContext context_;
  std::optional<query::SeriesOptions> buckets_of_;  // the documents are buckets of that time series
  std::unique_ptr<Update> update_;
};

}  // namespace

void check_update(OperationContext& op, std::string_view ns, const UpdateStatement& statement) {
  (void)UpdateRun(op, ns, statement);
}

void put_document(OperationContext& op, std::string_view ns, std::string_view id, bson::DocumentView document) {
  const bson::Document filter = bson::Builder().append("_id", id).done();
  const bson::Value update{bson::Document(document)};
  UpdateStatement statement;
  statement.selection.filter = filter;
  statement.update = update;
  statement.upsert = true;
  run_update(op, ns, statement);
}

UpdateOutcome run_update(OperationContext& op, std::string_view ns, const UpdateStatement& statement) {
  if (const auto series = query::find_series(op, std::string(ns))) return update_measurements(op, ns, *series, statement);
  UpdateOutcome outcome = UpdateRun(op, ns, statement).run();
  Metrics::Documents& documents = op.services().metrics.documents;
  documents.updated.add(outcome.matched);
  if (outcome.upserted_id) {
    documents.inserted.add();
    ++op.counts.upserted;
  }
  op.counts.matched = std::max<int64_t>(0, op.counts.matched) + outcome.matched;
  op.counts.modified = std::max<int64_t>(0, op.counts.modified) + outcome.modified;
  return outcome;
}

UpdateOutcome executed_update(OperationContext& op) {
  // The log has the statement as an entry: an upsert as an insert, else as a change.
  const bson::Document entry = op.retry->entry();
  UpdateOutcome outcome;
  if (entry["op"].as_string() == "i") {
    outcome.upserted_id.emplace(entry["o"].as_document()["_id"]);
  } else {
    outcome.matched = outcome.modified = 1;
  }
  return outcome;
}

DeleteOutcome run_delete(OperationContext& op, std::string_view ns, const Selection& selection, const Kept& keep_before) {
  const auto count = [&](int64_t deleted) {
    op.services().metrics.documents.deleted.add(deleted);
    op.counts.deleted = std::max<int64_t>(0, op.counts.deleted) + deleted;
  };
  if (const auto series = query::find_series(op, std::string(ns))) {
    DeleteOutcome outcome = delete_measurements(op, ns, *series, selection);
    count(outcome.deleted);
    return outcome;
  }
  auto changed =
      change_matching(op, ns, selection, [&](storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
        Effect effect;
        if (keep_before) effect.before = keep_before(match.document);
        writer.remove(transaction, match.record, match.document);
        return effect;
      });
  count(changed.matched);
  return {changed.matched, std::move(changed.before)};
}

bool remove_document(OperationContext& op, std::string_view ns, std::string_view id) {
  const bson::Document filter = bson::Builder().append("_id", id).done();
  Selection selection;
  selection.filter = filter;
  return run_delete(op, ns, selection).deleted > 0;
}

}  // namespace server::write
