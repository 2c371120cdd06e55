// Layers above the engine call these functions to learn how much room the disk has (disk_space.h). Collections ask by themselves
// for the data that they take in.
#pragma once

#include "storage/engine/disk_space.h"

namespace storage {

class Engine;

// Both throw OutOfDiskSpace. If a checkpoint may bring room, they wait for it. The first asks for room for new data; the second
// for `bytes` of a temporary file, which gives way to data.
void require_room(Engine& engine);
void require_temporary_room(Engine& engine, uint64_t bytes);

// Writes that can't be refused for good ask for these: replayed ones (replayed_writes.h), and those of the set's log. The first
// has a checkpoint taken, which may bring room, and waits for it; the caller is in no transaction. The others cost no more than a
// load if there is room; the last throws OutOfDiskSpace if there is none.
void make_room_for_replay(Engine& engine);
bool has_room_for_replay(Engine& engine);
void require_room_for_replay(Engine& engine, uint64_t bytes);  // that the write takes on the disk
// Tells whether new data that takes so many bytes would be refused while a checkpoint would bring room.
bool checkpoint_brings_room(Engine& engine, uint64_t bytes = 0);

bool is_full(Engine& engine);  // new data is refused; it costs no more than a load
DiskFigures disk_figures(Engine& engine);

}  // namespace storage
