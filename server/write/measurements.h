// Measurements of a time series are inserted into buckets (server/query/series/bucket.h), and removed from them.
//
// An insert looks for a bucket that still takes the measurement: by the series' index on meta and time, or by the buckets' _id,
// which begins with their time. So nothing is kept in memory, and restarts, failovers and branches go on with the buckets that
// there are. Two clients that add to one bucket conflict, and the second one's transaction runs again.
#pragma once

#include "server/query/series/series_options.h"
#include "server/write/insert.h"
#include "server/write/statements.h"

namespace server::write {

// A BucketSelection says which buckets a statement on a series looks for.
struct BucketSelection {
  std::string ns;  // the collection of buckets
  bson::Document filter;
  bson::Value hint;
  bson::CollatorPtr collator;
  bool whole = false;  // all measurements of each of these buckets are meant; otherwise those that match the statement's filter
};
// Throws what update_measurements does for a statement that it refuses.
BucketSelection buckets_to_update(OperationContext& op, std::string_view ns, const query::SeriesOptions& series,
                                  const UpdateStatement& statement);
BucketSelection buckets_to_delete(OperationContext& op, std::string_view ns, const query::SeriesOptions& series,
                                  const Selection& selection);

// Each serves the time series `ns`. Throws OperationNotSupportedInTransaction (263) in a client's transaction.
InsertOutcome insert_measurements(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                                  const InsertOptions& options);
// An update changes the meta of whole buckets. Throws InvalidOptions (72) for others.
UpdateOutcome update_measurements(OperationContext& op, std::string_view ns, const query::SeriesOptions& series,
                                  const UpdateStatement& statement);
DeleteOutcome delete_measurements(OperationContext& op, std::string_view ns, const query::SeriesOptions& series,
                                  const Selection& selection);

}  // namespace server::write
