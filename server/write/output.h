// Where pipelines write: the sinks behind $out and $merge.
#pragma once

#include "server/query/stages/output.h"

namespace storage {
class Store;
}
namespace versions {
class Databases;
}

namespace server::write {

// $out fills a collection of its own, with the indexes and options of the target, which takes the target's place at
// the end: until then readers see the old one, after an error it stays; on a branch, see replacement.h. $merge writes document by
// document, and what was written before an error stays.
std::unique_ptr<query::DocumentSink> make_sink(OperationContext& op, const query::OutputPlan& plan);

// At start: what $out had begun when the process ended.
void drop_unfinished_output(storage::Store& store, versions::Databases& databases);

}  // namespace server::write
