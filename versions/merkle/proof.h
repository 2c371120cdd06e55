// Proofs: that a key has its value below a root, or isn't there, for who has the root alone.
//
// A proof is the way down from the root, of search nodes the directory and the one section that
// the key would be in. Each step is hashed and compared with what the step above names; where the
// way goes follows from bytes that are covered by these hashes, so that below one root a key has
// one answer, whoever made the nodes. Format: docs/formats/merkle.md; tools/verify_proof does the
// same without anything of this tree.
#pragma once

#include <optional>

#include "base/result.h"
#include "versions/merkle/node.h"

namespace versions::merkle {

class ProofWriter {
 public:
  ProofWriter();
  void add(const Node& node);                  // whole
  void add(const Node& search, size_t entry);  // the section with this one; none where it is behind the last
  Bytes done() { return std::move(out_); }

 private:
  Bytes out_;
};

// The key's value, nullopt where it isn't there. A failure (BadValue) says why this is no proof for it: any byte may have been
// changed, or all of them made up.
base::Result<std::optional<Bytes>> verify(const Hash& root, BytesView key, BytesView proof);

}  // namespace versions::merkle
