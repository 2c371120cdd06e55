#include "replication/repair_mark.h"

#include "replication/local_document.h"

namespace replication {

constexpr std::string_view repair_mark_ns = "local.system.repaired";

bool mark_repair(storage::Store& store) {
  if (!was_member(store) || was_repaired(store)) return false;
  store.catalog().open_or_create(repair_mark_ns);
  return true;
}

void unmark_repair(storage::Store& store) {
  store.catalog().drop(repair_mark_ns);
}

bool was_repaired(storage::Store& store) {
  return store.catalog().open(repair_mark_ns) != nullptr;
}

}  // namespace replication
