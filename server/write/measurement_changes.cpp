#include "server/write/measurements.h"

#include <set>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/memory.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/matcher.h"
#include "server/query/reader.h"
#include "server/query/series/bucket.h"
#include "server/query/series/bucket_filter.h"
#include "server/query/series/bucket_index.h"
#include "server/write/document_writer.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using query::BucketBuilder;
using query::BucketReader;
using query::SeriesOptions;

namespace {

constexpr size_t buckets_at_once = 128;

[[noreturn]] void cannot_update(const std::string& why) {
  throw OperationError(ErrorCode::invalid_options, "Cannot perform " + why);
}

void check_no_transaction(const OperationContext& op, const char* what, std::string_view ns) {
  if (!op.in_transaction) return;
  throw OperationError(
      ErrorCode::operation_not_supported_in_transaction,
      std::string("Cannot perform ") + what + " on a time-series collection in a multi-document transaction: " + std::string(ns));
}

bson::Document id_filter(const bson::ValueView& id) {
  bson::Builder out;
  out.append("_id", id);
  return out.done();
}

bson::Document both(bson::DocumentView a, bson::DocumentView b) {
  bson::Builder out;
  out.array("$and").append(a).append(b);
  return out.done();
}

bson::Value bucket_hint(const SeriesOptions& series, const bson::ValueView& hint) {
  if (!hint.is_object()) return bson::Value(hint);
  try {
    return bson::Value(query::bucket_key(series, hint.as_document()));
  } catch (const OperationError&) {
    return bson::Value(hint);  // no index has that key; the planner says so
  }
}

// Says whether the work may move a bucket ahead in the index that is scanned, which then shows it again.
enum class Moves : uint8_t { no, yes };

// Calls work(_id) once for each bucket that matches, without a transaction or a lock, until it returns false.
template <class Work>
void each_bucket(OperationContext& op, const BucketSelection& buckets, const Selection& selection, Moves moves,
                 const Work& work) {
  query::Query query;
  query.ns = buckets.ns;
  query.filter = buckets.filter;
  query.hint = buckets.hint;
  query.let = bson::Document(selection.let);
  query.collation = buckets.collator;
  query::Reader reader(op, query::open_present(op, buckets.ns), buckets.ns, query);
  std::set<std::pair<bson::Type, bson::Bytes>> seen;
  constexpr size_t node_bytes = 112;
  Held held(op.allowance().memory());
  for (bool more = true; more;) {
    std::vector<bson::Value> ids;
    while (ids.size() < buckets_at_once && (more = reader.next())) {
      const bson::Element id = reader.document()["_id"];
      if (moves == Moves::yes) {
        if (!seen.emplace(id.type(), bson::Bytes(id.bytes())).second) continue;
        held.set(seen.size() * node_bytes);
      }
      ids.emplace_back(id);
    }
    reader.end();
    for (const bson::Value& id : ids) {
      op.check_interrupt();
      if (!work(id)) return;
    }
    if (more) reader.begin(op);
  }
}

// Removes the measurements of one bucket that match.
class Removal {
 public:
  Removal(OperationContext& op, const std::string& buckets, const SeriesOptions& series, const query::Matcher& matcher, bool all)
      : op_(op),
        buckets_(buckets),
        series_(series),
        collator_(query::collator_for(op, buckets, std::nullopt)),
        matcher_(matcher),
        all_(all) {}

  // Returns how many it removed.
  int64_t run(const bson::Value& id) {
    const bson::Document filter = id_filter(id);
    Selection one;
    one.filter = filter;
    const auto changed =
        change_matching(op_, buckets_, one, [&](storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
          return remove(transaction, writer, match);
        });
    // After a conflict the bucket may be gone: then an earlier run's count doesn't hold.
    return changed.matched == 0 ? 0 : removed_;
  }

 private:
  Effect remove(storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
    Effect effect;
    removed_ = 0;
    BucketBuilder rest = BucketBuilder::emptied(series_, match.document, collator_.get());
    BucketReader reader(series_.time_field, series_.meta_field, match.document);
    while (reader.next()) {
      const bson::Document measurement = reader.measurement();
      if ((all_ || removed_ == 0) && matcher_.matches(measurement)) {
        ++removed_;
      } else {
        rest.add(measurement);
      }
    }
    effect.modified = removed_ > 0;
    if (removed_ == 0) return effect;
    if (rest.count() == 0)
      writer.remove(transaction, match.record, match.document);
    else
      writer.update(transaction, match.record, match.document, rest.document());
    return effect;
  }

  OperationContext& op_;
  const std::string& buckets_;
  const SeriesOptions& series_;
  const bson::CollatorPtr collator_;  // the buckets' own: control has the extremes by it
  const query::Matcher& matcher_;
  const bool all_;
  int64_t removed_ = 0;
};

bool names_meta(const SeriesOptions& series, std::string_view path) {
  return query::meta_path(series, path).has_value();
}

// Returns the update with its paths as they are in buckets.
bson::Document bucket_update(const SeriesOptions& series, bson::DocumentView update) {
  const auto check = [&](std::string_view path) {
    if (names_meta(series, path)) return;
    cannot_update("an update on a time-series collection which updates a field that is not the metaField '" + series.meta_field +
                  "'");
  };
  bson::Builder out;
  for (const bson::Element& op : update) {
    if (!op.name.starts_with("$") || !op.is_object())
      cannot_update("an update on a time-series collection that isn't made of update operators");
    bson::Builder fields = out.object(op.name);
    for (const bson::Element& field : op.as_document()) {
      check(field.name);
      const std::string path = *query::meta_path(series, field.name);
      if (op.name == "$rename" && field.is_string()) {
        check(field.as_string());
        fields.append(path, *query::meta_path(series, field.as_string()));
      } else {
        fields.append(path, static_cast<const bson::ValueView&>(field));
      }
    }
  }
  return out.done();
}

bson::Document checked_filter(const SeriesOptions& series, const UpdateStatement& statement) {
  if (!statement.selection.all) cannot_update("a non-multi update on a time-series collection");
  if (statement.upsert) cannot_update("an upsert on a time-series collection");
  if (series.meta_field.empty()) cannot_update("an update on a time-series collection that does not have a metaField");
  if (!statement.update.is_object() || statement.update.as_document().empty())
    cannot_update("an update on a time-series collection that isn't made of update operators");
  auto filter = query::meta_filter(series, statement.selection.filter);
  if (!filter) {
    cannot_update("an update on a time-series collection when querying on a field that is not the metaField '" +
                  series.meta_field + "'");
  }
  return std::move(*filter);
}

}  // namespace

BucketSelection buckets_to_update(OperationContext& op, std::string_view ns, const SeriesOptions& series,
                                  const UpdateStatement& statement) {
  BucketSelection buckets;
  buckets.filter = checked_filter(series, statement);
  buckets.ns = query::buckets_of(ns);
  buckets.hint = bucket_hint(series, statement.selection.hint);
  buckets.collator = query::collator_for(op, buckets.ns, statement.selection.collation);
  buckets.whole = true;
  (void)bucket_update(series, statement.update.as_document());
  return buckets;
}

BucketSelection buckets_to_delete(OperationContext& op, std::string_view ns, const SeriesOptions& series,
                                  const Selection& selection) {
  BucketSelection buckets;
  buckets.ns = query::buckets_of(ns);
  buckets.hint = bucket_hint(series, selection.hint);
  buckets.collator = query::collator_for(op, buckets.ns, selection.collation);
  auto of_meta = selection.all ? query::meta_filter(series, selection.filter) : std::nullopt;
  buckets.whole = of_meta.has_value();
  buckets.filter = of_meta ? *std::move(of_meta) : query::bucket_filter(series, selection.filter);
  return buckets;
}

UpdateOutcome update_measurements(OperationContext& op, std::string_view ns, const SeriesOptions& series,
                                  const UpdateStatement& statement) {
  check_no_transaction(op, "an update", ns);
  const BucketSelection buckets = buckets_to_update(op, ns, series, statement);
  const bson::Value update(bucket_update(series, statement.update.as_document()));
  UpdateOutcome outcome;
  each_bucket(op, buckets, statement.selection, Moves::yes, [&](const bson::Value& id) {
    const bson::Document same = both(id_filter(id), buckets.filter);
    int64_t measurements = 0;
    UpdateStatement one = statement;
    one.selection.filter = same;
    one.selection.hint = {};
    one.selection.all = false;
    one.selection.collation = buckets.collator;
    one.update = update;
    one.keep_after = [&](bson::DocumentView bucket) {
      measurements = query::measurement_count(series, bucket);
      return bson::Document();
    };
    const UpdateOutcome changed = run_update(op, buckets.ns, one);
    if (changed.matched > 0) outcome.matched += measurements;
    if (changed.modified > 0) outcome.modified += measurements;
    return true;
  });
  return outcome;
}

DeleteOutcome delete_measurements(OperationContext& op, std::string_view ns, const SeriesOptions& series,
                                  const Selection& selection) {
  check_no_transaction(op, "a delete", ns);
  const BucketSelection buckets = buckets_to_delete(op, ns, series, selection);
  const auto matcher = query::Matcher::parse(selection.filter, query::filter_context(op, selection.let, buckets.collator));
  Removal removal(op, buckets.ns, series, *matcher, selection.all);
  DeleteOutcome outcome;
  each_bucket(op, buckets, selection, Moves::no, [&](const bson::Value& id) {
    outcome.deleted += removal.run(id);
    return selection.all || outcome.deleted == 0;
  });
  return outcome;
}

}  // namespace server::write
