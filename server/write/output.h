// Sinks are where $out and $merge write.
#pragma once

#include "server/query/stages/output.h"

namespace storage {
class Store;
}
namespace versions {
class Databases;
}

namespace server::write {

// $out fills a collection of its own, with the indexes and options of the target, which replaces the target at the end: until
// then readers see the old one, and after an error it stays; replacement.h says how on a branch. $merge writes document by
// document, and documents written before an error stay.
std::unique_ptr<query::DocumentSink> make_sink(OperationContext& op, const query::OutputPlan& plan);

// Throws 51183 if no index makes $merge's target unique by the plan's `on` (server/query/stages/output.h).
void check_unique(OperationContext& op, const query::OutputPlan& plan);

// Removes, at start, the collections that $out had begun when the process ended.
void drop_unfinished_output(storage::Store& store, versions::Databases& databases);

}  // namespace server::write
