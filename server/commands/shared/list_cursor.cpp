#include "server/commands/shared/list_cursor.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

namespace {

constexpr size_t uncounted_bytes_max = 64 << 10;

size_t bytes_of(const bson::Document& document) {
  return sizeof(document) + document.size();
}

int64_t batch_size(const Request& request) {
  const Arguments arguments(request);
  const auto cursor = arguments.object("cursor");
  if (!cursor) return std::numeric_limits<int64_t>::max();
  const Arguments options(arguments.dotted("cursor"), *cursor);
  options.only({"batchSize"});
  return options.unsigned_integer("batchSize").value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

ListSource::ListSource(OperationContext& op) : memory_(&op.services().memory) {}

// A budget takes memory from the pool in steps of a megabyte. Cursors over small lists take nothing, since there may be many.
void ListSource::add(bson::Document document) {
  bytes_ += bytes_of(document);
  if (bytes_ > uncounted_bytes_max) held_.set(bytes_);
  documents_.push_back(std::move(document));
}

bool ListSource::add_anyway(bson::Document document) {
  bytes_ += bytes_of(document);
  const bool room = bytes_ <= uncounted_bytes_max || held_.add_if_room(bytes_ - std::min(bytes_, held_.bytes()));
  documents_.push_back(std::move(document));
  return room;
}

bool ListSource::next() {
  if (shown_) {
    bytes_ -= bytes_of(documents_.front());
    if (bytes_ < held_.bytes()) held_.set(bytes_ > uncounted_bytes_max ? bytes_ : 0);
    documents_.pop_front();
  }
  shown_ = !documents_.empty();
  return shown_;
}

void reply_source(OperationContext& op, const Request& request, std::string ns, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply) {
  auto cursor = std::make_unique<query::Cursor>();
  cursor->ns = std::move(ns);
  cursor->source = std::move(source);
  cursor->command = std::make_shared<const bson::Document>(request.body);
  if (op.lsid.is_object()) cursor->lsid = bson::Document(op.lsid.as_document());
  base::check(op.services().cursors != nullptr, "a server with storage has cursors");
  query::reply_first_batch(op, *op.services().cursors, std::move(cursor), batch_size(request), false, reply);
}

}  // namespace server
