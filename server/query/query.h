// A query, before it is planned: planner, stages and executor all read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bson/collation.h"
#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

struct IndexFilter;
class MetadataPlace;

// A pipeline's $geoNear puts these fields into each document.
struct NearOutput {
  std::string distance_field;  // a path; empty: no distance
  double distance_multiplier = 1;
  std::string location_field;  // a path, where the closest location goes; empty: nowhere
};

// find, count, distinct, update, delete and a pipeline's first stage all ask a Query.
struct Query {
  std::string ns;  // explain shows it if there is no collection
  bson::Document filter;
  bson::Document projection;  // empty: whole documents
  bson::Document sort;        // may be {$natural: ±1}
  int64_t skip = 0;
  int64_t limit = 0;   // 0: no limit
  bson::Value hint;    // an index's name or key, {$natural: ±1}; missing: none
  bson::Document min;  // bounds on the hinted index; empty: none
  bson::Document max;
  bson::Document let;
  // make_executor puts the collection's default in place of a missing one, so an executor's query always has one.
  bson::GivenCollation collation;
  bool return_key = false;
  bool show_record_id = false;
  bool allow_disk_use = false;
  bool tailable = false;
  bool changes = false;  // the caller may remove each document that it gets before it asks for the next one
  // Only the different values of this field are wanted, each from at least one document; empty: all documents.
  std::string distinct;
  std::shared_ptr<MetadataPlace> metadata;          // gets what others want to know of each document; nullptr: nobody does
  bool count_only = false;                          // the documents aren't returned: they are fetched only to be matched
  bool explained = false;                           // all plans are tried, and the trials of those that lost are kept
  std::shared_ptr<const IndexFilter> index_filter;  // the allowed indexes; nullptr: all. make_executor sets it
  std::shared_ptr<const NearOutput> near_output;    // of a pipeline's $geoNear; nullptr: none

  const bson::Collator* collator() const { return collation ? collation->get() : nullptr; }
};

enum class Verbosity { query_planner, execution_stats, all_plans_execution };

struct ExecutionStats {
  int64_t returned = 0;
  int64_t keys_examined = 0;
  int64_t docs_examined = 0;
  int64_t dedup_hops = 0;   // deltas applied to read those documents
  int64_t dedup_bytes = 0;  // deltas read and contents made for that
  int64_t works = 0;
};

}  // namespace server::query
