// Tells the place of a query's metadata what a stage knows of the document that it has found.
#pragma once

#include "server/query/document_metadata.h"
#include "server/query/exec/build.h"

namespace server::query::exec {

// Makes `stage`, which runs `access` and stands below sort and projection, write what the place wants as it advances. `parts`
// has a place, and is borrowed as long as the stage lives.
void write_metadata(Stage& stage, const Parts& parts, const plan::Access& access);
// The same for a branch of an $or, which knows which index's key led to the document.
void write_index_key(Stage& stage, const Parts& parts, const plan::Access& access);

}  // namespace server::query::exec
