// What a command hands out through a cursor that is no query.
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

// The same of documents that are made as they are asked for. `source` has begun.
void reply_source(OperationContext& op, const Request& request, std::string ns, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply);

}  // namespace server
