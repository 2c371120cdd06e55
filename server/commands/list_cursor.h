// Lists that a command makes at once and hands out through a cursor.
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

// Appends `cursor` over `source`, likewise.
void reply_cursor(OperationContext& op, const Request& request, const std::string& command, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply);

// Appends `cursor`, with as many documents as the request's cursor.batchSize allows; the rest waits for getMore.
void reply_list(OperationContext& op, const Request& request, std::string ns, std::vector<bson::Document> documents,
                bson::Builder& reply);

}  // namespace server
