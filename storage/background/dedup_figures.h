// These functions report what dedup does in the statistics commands: logical, stored and file bytes, chains, hops of reads,
// encoders, queue, caches and log.
#pragma once

#include <string>

#include "bson/builder.h"
#include "storage/collections/collection.h"

namespace storage {

class Catalog;
struct DedupBackground;
class Engine;
struct Contents;

// The functions append the fields of serverStatus().dedup, dbStats().dedup and collStats().dedup. They are thread-safe. Each
// figure is right by itself, but the figures aren't read at one moment.
void append_server_figures(Contents& contents, const Catalog& catalog, const DedupBackground& background, bson::Builder& out);
void append_database_figures(Engine& engine, const Catalog& catalog, const DedupBackground& background, const std::string& db,
                             bson::Builder& out);
void append_collection_figures(Engine& engine, const Collection& collection, bson::Builder& out);

}  // namespace storage
