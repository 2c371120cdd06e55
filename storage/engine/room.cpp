#include "storage/engine/room.h"

#include "storage/engine/internals.h"

namespace storage {

void require_room(Engine& engine) {
  engine.internals().require_room(DiskUse::growth);
}

void require_temporary_room(Engine& engine, uint64_t bytes) {
  engine.internals().space.wrote(bytes);
  engine.internals().require_room(DiskUse::background);
}

bool is_full(Engine& engine) {
  return engine.internals().space.state() >= DiskState::full;
}

DiskFigures disk_figures(Engine& engine) {
  return engine.internals().space.figures();
}

}  // namespace storage
