#include "storage/engine/drop_now.h"

#include "storage/engine/engine.h"
#include "storage/engine/internals.h"

namespace storage {

void drop_now(Engine& engine, const std::string& table) {
  engine.internals().tables.drop_now(table);
}

}  // namespace storage
