// Some commands return documents through a cursor that is no query.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"

namespace server {

namespace query {
class CursorSource;
}
class OperationContext;
struct Request;

// Appends `cursor`, with as many documents as the request's cursor.batchSize allows; the rest waits for getMore.
void reply_list(OperationContext& op, const Request& request, std::string ns, std::vector<bson::Document> documents,
                bson::Builder& reply);

// Does the same for documents that are made when a client asks for them. `source` has begun.
void reply_source(OperationContext& op, const Request& request, std::string ns, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply);

}  // namespace server
