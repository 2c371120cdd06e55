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

void make_room_for_replay(Engine& engine) {
  engine.internals().checkpointer.make_room(DiskUse::change);
}

bool has_room_for_replay(Engine& engine) {
  return engine.internals().space.has_room(DiskUse::change);
}

void require_room_for_replay(Engine& engine, uint64_t bytes) {
  engine.internals().space.require_for_replay(DiskUse::growth, bytes);
}

bool checkpoint_brings_room(Engine& engine, uint64_t bytes) {
  DiskSpace& space = engine.internals().space;
  return !space.has_room(DiskUse::growth, bytes) && space.checkpoint_helps();
}

bool is_full(Engine& engine) {
  return engine.internals().space.state() >= DiskState::full;
}

DiskFigures disk_figures(Engine& engine) {
  return engine.internals().space.figures();
}

}  // namespace storage
