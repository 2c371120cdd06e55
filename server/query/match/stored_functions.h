// $where sees the functions, and other values, that its command's database keeps in system.js: {_id: name, value: function}.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bson/value.h"
#include "server/core/memory.h"

namespace server {
class OperationContext;
namespace script {
class Engine;
}
}  // namespace server

namespace server::query::match {

// Immutable after read(). Its memory is held in a budget, which must outlive it.
class StoredFunctions {
 public:
  explicit StoredFunctions(MemoryBudget& budget) : held_(budget) {}

  // Reads what is stored now. nullptr: the database keeps none. Throws ExceededMemoryLimit. A cursor's operation ends before the
  // cursor does, so the budget is the cursor's.
  static std::shared_ptr<const StoredFunctions> read(const OperationContext& op, MemoryBudget& budget);

  // Gives them to an engine, under their names.
  void define(script::Engine& engine) const;

 private:
  Held held_;
  std::vector<std::pair<std::string, bson::Value>> values_;
};

}  // namespace server::query::match
