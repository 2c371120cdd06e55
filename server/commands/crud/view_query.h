// find, count and distinct over a view are aggregates: the view's pipeline, and then stages for what the command asks.
#pragma once

#include <memory>

#include "bson/builder.h"
#include "server/query/find_request.h"

namespace storage {
class Collection;
}
namespace server {
class OperationContext;
struct Request;
}  // namespace server

namespace server::query {
class Pipeline;
class Stage;
struct PipelineContext;
}  // namespace server::query

namespace server {

// Returns whether a read that has found this collection (nullptr: none) under the name is of a view.
bool is_view(OperationContext& op, const std::string& ns, const storage::Collection* found);

// Replies to a find, or explains it. Throws InvalidPipelineOperator (168) for options that views don't have.
void find_on_view(OperationContext& op, const Request& request, const query::FindRequest& find, bson::Builder& reply);
void explain_find_on_view(OperationContext& op, const Request& request, const query::FindRequest& find,
                          query::Verbosity verbosity, bson::Builder& reply);

// The documents of a view that match a query.
class ViewDocuments {
 public:
  // `last`: one more stage, behind filter, skip and limit; empty: none.
  ViewDocuments(OperationContext& op, const query::Query& query, bson::DocumentView last = {});
  ~ViewDocuments();

  bool next();
  bson::DocumentView document();
  const bson::Collator* collator() const;  // the view's; nullptr: bytes are compared
  void explain(query::Verbosity verbosity, bson::Builder& reply);

 private:
  std::unique_ptr<query::PipelineContext> context_;
  std::unique_ptr<query::Pipeline> pipeline_;
  std::unique_ptr<query::Stage> stage_;
};

}  // namespace server
