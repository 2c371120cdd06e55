// These functions make packs for tests and fuzz targets.
#pragma once

#include "bson/json.h"
#include "versions/pack/pack_reader.h"
#include "versions/pack/pack_writer.h"

namespace versions::pack::testing {

struct Contents {
  Header header;
  std::vector<std::pair<Commit, std::vector<Row>>> commits;
};

inline Commit commit(std::vector<Hash> parents, Bytes metadata, const Bytes& uuid) {
  Commit one{.time_ms = 1'700'000'000'000, .metadata = std::move(metadata), .parents = std::move(parents)};
  one.roots.push_back({.uuid = uuid, .root = merkle::sha256("a root"), .tree = bson::json("{tree: 'patriciaTrie'}")});
  one.id = id_of(one);
  one.purged = true;
  return one;
}

// Two commits behind one that must be there.
inline Contents two_commits() {
  const Bytes uuid(16, '\7');
  Contents all;
  const Hash base = merkle::sha256("before");
  const Commit first = commit({base}, "one", uuid), second = commit({first.id, base}, "two", uuid);
  all.header = {.database = "shop",
                .first = merkle::sha256("first"),
                .stands_on = {base},
                .refs = {{Ref::Kind::branch, "dev", second.id}, {Ref::Kind::tag, "v1", base}},
                .collections = {{.uuid = uuid,
                                 .name = "pages",
                                 .options = bson::json("{}"),
                                 .indexes = {bson::json("{v: 2, key: {a: 1}, name: 'a_1'}")}}}};
  all.commits.push_back({first,
                         {{Row::Kind::insert, 0, "k1", bson::json("{_id: 1, text: 'one'}").bytes()},
                          {Row::Kind::update, 0, "k2", "delta"},
                          {Row::Kind::remove, 0, "k3", ""}}});
  all.commits.push_back(
      {second,
       {{Row::Kind::replace, 0, "k1", bson::json("{_id: 1}").bytes()}, {Row::Kind::named, 0, "k4", Bytes(merkle::view(base))}}});
  return all;
}

// Returns a commit that is packed whole, because its parent isn't in the pack, and one behind it.
inline Contents shallow() {
  const Bytes uuid(16, '\7');
  Contents all = two_commits();
  all.commits.clear();
  Commit boundary = commit({merkle::sha256("left out")}, "boundary", uuid);
  boundary.against = Hash{};
  const Commit next = commit({boundary.id, merkle::sha256("left out too")}, "next", uuid);
  all.header.stands_on = {};
  all.header.excluded = {merkle::sha256("left out"), merkle::sha256("left out too")};
  all.header.refs = {{Ref::Kind::branch, "dev", next.id}};
  all.commits.push_back({boundary, {{Row::Kind::insert, 0, "k1", bson::json("{_id: 1, text: 'one'}").bytes()}}});
  all.commits.push_back({next, {{Row::Kind::remove, 0, "k1", ""}}});
  return all;
}

inline Bytes written(const Contents& contents) {
  PackWriter writer(contents.header);
  for (const auto& [commit, rows] : contents.commits) {
    writer.add(commit);
    for (const Row& row : rows) writer.add(row);
  }
  writer.finish();
  return writer.take();
}

// Reads a pack that comes in pieces of so many bytes.
inline Contents read(BytesView bytes, size_t piece = SIZE_MAX) {
  PackReader reader([&bytes, piece] {
    const Bytes next(bytes.substr(0, piece));
    bytes.remove_prefix(next.size());
    return next;
  });
  Contents all{.header = reader.header(), .commits = {}};
  for (;;) {
    auto item = reader.next();
    if (auto* const commit = std::get_if<Commit>(&item)) {
      all.commits.push_back({std::move(*commit), {}});
    } else if (auto* const row = std::get_if<Row>(&item)) {
      all.commits.back().second.push_back(std::move(*row));
    } else {
      return all;
    }
  }
}

}  // namespace versions::pack::testing
