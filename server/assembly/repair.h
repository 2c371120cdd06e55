// This file does what `palimpsestd --repair` does, once the data directory is open.
#pragma once

namespace server {

class Assembly;

// Repairs every collection as `validate {full: true, repair: true}` does, and logs a line for each, with what was repaired and
// what is lost. Returns whether all collections are sound now.
bool repair_collections(Assembly& assembly);

}  // namespace server
