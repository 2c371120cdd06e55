// What layers above the engine ask about the disk's room (disk_space.h). Collections ask for the data that they take in
// themselves.
#pragma once

#include "storage/engine/disk_space.h"

namespace storage {

class Engine;

// Both throw OutOfDiskSpace. If a checkpoint may bring room, they wait for it. The first asks for room for new data; the second
// for `bytes` of a temporary file, which gives way to data.
void require_room(Engine& engine);
void require_temporary_room(Engine& engine, uint64_t bytes);

bool is_full(Engine& engine);  // new data is refused; it costs no more than a load
DiskFigures disk_figures(Engine& engine);

}  // namespace storage
