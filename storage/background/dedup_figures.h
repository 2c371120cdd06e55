// What dedup does, as the statistics commands show it: logical, stored and file
// bytes, chains, hops of reads, encoders, queue, caches, log.
#pragma once

#include <string>

#include "bson/builder.h"
#include "storage/collections/collection.h"

namespace storage {

class Catalog;
class DedupWorker;
class Engine;
struct Contents;

// Appends the fields of serverStatus().dedup, dbStats().dedup and collStats().dedup. Thread-safe; each
// figure is right by itself, not together with the others.
void append_server_figures(Contents& contents, const Catalog& catalog, const DedupWorker& worker, bson::Builder& out);
void append_database_figures(Engine& engine, const Catalog& catalog, const DedupWorker& worker, const std::string& db,
                             bson::Builder& out);
void append_collection_figures(Engine& engine, const Collection& collection, bson::Builder& out);

}  // namespace storage
