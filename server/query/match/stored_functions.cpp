#include "server/query/match/stored_functions.h"

#include "server/core/allowance.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/script/engine.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::query::match {

std::shared_ptr<const StoredFunctions> StoredFunctions::read(const OperationContext& op, MemoryBudget& budget) {
  storage::Store& store = *op.services().store;
  const auto collection = store.catalog().open(op.request().db + ".system.js");
  if (!collection) return nullptr;
  auto found = std::make_shared<StoredFunctions>(budget);
  storage::Transaction transaction(store, storage::Transaction::Mode::read);
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  while (scan->next()) {
    op.check_interrupt();
    const bson::DocumentView one = scan->document();
    const bson::Element name = one["_id"], value = one["value"];
    if (!name.is_string() || !value.exists()) continue;
    found->held_.add(one.size());
    found->values_.emplace_back(name.as_string(), bson::Value(value));
  }
  return found;
}

void StoredFunctions::define(script::Engine& engine) const {
  for (const auto& [name, value] : values_) engine.define(name, value);
}

}  // namespace server::query::match
