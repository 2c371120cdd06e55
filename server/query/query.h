// A query, before it is planned: planner, stages and executor all read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

struct IndexFilter;

// What is asked, whoever asks: find, count, distinct, update, delete, a pipeline's first stage.
struct Query {
  std::string ns;  // as explain shows it, where there is no collection
  bson::Document filter;
  bson::Document projection;  // empty: whole documents
  bson::Document sort;        // may be {$natural: ±1}
  int64_t skip = 0;
  int64_t limit = 0;   // 0: no limit
  bson::Value hint;    // an index's name or key, {$natural: ±1}; missing: none
  bson::Document min;  // bounds on the hinted index; empty: none
  bson::Document max;
  bson::Document let;
  bool return_key = false;
  bool show_record_id = false;
  bool allow_disk_use = false;
  bool tailable = false;
  std::string
      distinct;  // only the different values of this field are wanted, of each at least one document's; empty: all documents
  bool count_only = false;                          // nobody looks at the documents: they are fetched only to be matched
  bool keep_trials = false;                         // for explain: what the plans that lost did
  std::shared_ptr<const IndexFilter> index_filter;  // the indexes allowed; nullptr: all. make_executor sets it
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
