// Some commands return documents through a cursor that is no query.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "bson/builder.h"
#include "server/core/memory.h"
#include "server/query/cursor_registry.h"

namespace server {

class OperationContext;
struct Request;

// A list is made as a whole, in memory. Unless it is small, its documents are counted from when they are added until a client has
// got them.
class ListSource : public query::CursorSource {
 public:
  explicit ListSource(OperationContext& op);

  // Throws ExceededMemoryLimit (146) if there is no room for the document.
  void add(bson::Document document);
  // Keeps it all the same, because it says what was done. Returns false if there was no room.
  bool add_anyway(bson::Document document);

  void begin(OperationContext&) override {}
  void end() override {}
  bool next() override;
  bson::DocumentView document() override { return documents_.front(); }
  bool exhausted() const override { return documents_.size() == (shown_ ? 1 : 0); }

 private:
  MemoryBudget memory_;
  Held held_{memory_};
  size_t bytes_ = 0;                      // of the documents
  std::deque<bson::Document> documents_;  // that no client has got
  bool shown_ = false;                    // the first of them
};

// Appends `cursor`, with as many documents as the request's cursor.batchSize allows; the rest waits for getMore. `source` has
// begun.
void reply_source(OperationContext& op, const Request& request, std::string ns, std::unique_ptr<query::CursorSource> source,
                  bson::Builder& reply);

}  // namespace server
