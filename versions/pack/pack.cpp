#include "versions/pack/pack.h"

#include "base/varint.h"

namespace versions::pack {

// docs/formats/branches.md has the statement's bytes.
Hash id_of(const Commit& commit) {
  constexpr char roots = 2;
  const auto with_length = [](Bytes& out, BytesView bytes) {
    base::append_varint(out, bytes.size());
    out.append(bytes);
  };
  Bytes statement = "palimpsest commit";
  statement.push_back(roots);
  base::append_varint(statement, commit.parents.size());
  for (const Hash& parent : commit.parents) statement.append(merkle::view(parent));
  with_length(statement, commit.metadata);
  base::append_varint(statement, commit.roots.size());
  for (const Root& one : commit.roots) {
    with_length(statement, one.uuid);
    statement.append(merkle::view(one.root));
  }
  base::append_le(statement, commit.time_ms);
  return merkle::sha256(statement);
}

}  // namespace versions::pack
