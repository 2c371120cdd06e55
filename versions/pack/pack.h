// A pack holds commits of a database, so that another server can replay them (docs/formats/pack.md).
//
//   pack     PALPACK1 | frame … | end
//   frame    its checksum and lengths | a zstd frame of records
//   end      SHA-256 of all before
//   records  header | commit, its rows … | commit, its rows … | end
//
// These are the values; pack_writer.h and pack_reader.h have the bytes. A pack is read once from its beginning, in memory that
// its frames bound.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "versions/merkle/hash.h"

namespace versions::pack {

using base::Bytes;
using base::BytesView;
using merkle::Hash;

// A name that the pack brings.
struct Ref {
  enum class Kind : uint8_t { branch, tag };
  Kind kind = Kind::branch;
  std::string name;
  Hash commit{};
  bool operator==(const Ref&) const = default;
};

struct Collection {
  Bytes uuid;  // 16 bytes
  std::string name;
  bson::Document options;  // as listCollections shows them
  std::vector<bson::Document> indexes = {};
};

struct Header {
  std::string database;              // where the commits are from
  std::optional<Hash> first = {};    // the commit with which its history begins, as far as it knows
  std::vector<Hash> stands_on = {};  // commits that must be there already
  std::vector<Hash> excluded = {};   // parents that the pack leaves out; they may be missing where it arrives
  std::vector<Ref> refs = {};        // each names a commit of the pack, or one that it stands on
  std::vector<Collection> collections = {};
};

struct Root {
  Bytes uuid;
  Hash root{};          // zeros: the commit's id says nothing of the documents
  bson::Document tree;  // the kind of its tree, as the collection's option `commits` says it; empty: the default
};

struct Commit {
  Hash id{};
  int64_t time_ms = 0;
  Bytes metadata = {};
  std::vector<Hash> parents = {};
  std::vector<Root> roots = {};  // of all collections that the commit has, in the order of its statement
  bool purged = false;           // rows of documents that were purged may follow (Row::Kind::named)
  // Rows are against this commit, since the first parent is excluded; zeros: against nothing. nullopt: against the first parent.
  std::optional<Hash> against = {};
};

// A Row is what the commit changed of a document, against its first parent or what it names in its place.
struct Row {
  enum class Kind : uint8_t { insert = 0, replace = 1, update = 2, remove = 3, named = 4 };
  Kind kind = Kind::insert;
  uint32_t collection = 0;  // its place in the header
  Bytes key = {};           // the key string of the `_id`
  Bytes body = {};          // the document; of an update its delta (dedup/delta.h); of a purged document (named) its hash
  bool operator==(const Row&) const = default;
};

// The commit's id, from all that it says.
Hash id_of(const Commit& commit);

constexpr std::string_view magic = "PALPACK1";  // the last digit is the format's version

}  // namespace versions::pack
