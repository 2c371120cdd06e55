#include "replication/repair_mark.h"

#include "replication/local_document.h"
#include "storage/upkeep/repair.h"

namespace replication {

constexpr std::string_view repair_mark_ns = "local.system.repaired";

RepairMark::RepairMark(storage::Store& store) : store_(store) {
  if (!was_member(store) || was_repaired(store)) return;
  store.catalog().open_or_create(repair_mark_ns);
  is_new_ = true;
}

void RepairMark::take_back() {
  if (is_new_) forget_repair(store_);
}

bool was_repaired(storage::Store& store) {
  return store.catalog().open(repair_mark_ns) || storage::was_salvaged(store);
}

void forget_repair(storage::Store& store) {
  if (store.catalog().open(repair_mark_ns)) store.catalog().drop(repair_mark_ns);
  storage::forget_salvage(store);
}

}  // namespace replication
