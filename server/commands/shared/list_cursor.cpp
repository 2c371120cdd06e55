#include "server/commands/shared/list_cursor.h"

#include <limits>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"

namespace server {

namespace {

class ListSource : public query::CursorSource {
 public:
  explicit ListSource(std::vector<bson::Document> documents) : documents_(std::move(documents)) {}
  void begin(OperationContext&) override {}
  void end() override {}
  bool next() override { return next_++ < documents_.size(); }
  bson::DocumentView document() override { return documents_[next_ - 1]; }

 private:
  std::vector<bson::Document> documents_;
  size_t next_ = 0;
};

int64_t batch_size(const Request& request) {
  const Arguments arguments(request);
  const auto cursor = arguments.object("cursor");
  if (!cursor) return std::numeric_limits<int64_t>::max();
  const Arguments options(arguments.dotted("cursor"), *cursor);
  options.only({"batchSize"});
  return options.unsigned_integer("batchSize").value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

void reply_source(OperationContext& op, const Request& request, std::string ns, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply) {
  auto cursor = std::make_unique<query::Cursor>();
  cursor->ns = std::move(ns);
  cursor->source = std::move(source);
  cursor->command = bson::Document(request.body);
  if (op.lsid.is_object()) cursor->lsid = bson::Document(op.lsid.as_document());
  base::check(op.services().cursors != nullptr, "a server with storage has cursors");
  query::reply_first_batch(op, *op.services().cursors, std::move(cursor), batch_size(request), false, reply);
}

void reply_list(OperationContext& op, const Request& request, std::string ns, std::vector<bson::Document> documents,
                bson::Builder& reply) {
  reply_source(op, request, std::move(ns), std::make_unique<ListSource>(std::move(documents)), reply);
}

}  // namespace server
