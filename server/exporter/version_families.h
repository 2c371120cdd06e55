// Adds families about a database with branches: a reply of versionStats. The label `database` says whose they are.
//
//   palimpsest_versions_branches, _tags, _commits, _dropped_commits, _versions
#pragma once

#include "server/exporter/status_families.h"

namespace server::exporter {

void add_versions(bson::DocumentView stats, Families& families);

}  // namespace server::exporter
