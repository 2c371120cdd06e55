// A proof shows that a key has its value below a root, or isn't there, to somebody who has the root alone.
//
// A proof is the way down from the root: of each search node it has the directory and the one section that the key would be in.
// Each step is hashed and compared with what the step above names. The bytes that these hashes cover decide where the way goes,
// so below one root a key has one answer, whoever made the nodes. Format: docs/formats/merkle.md; tools/verify_proof does the
// same without anything of this tree.
#pragma once

#include <optional>

#include "base/result.h"
#include "versions/merkle/node.h"

namespace versions::merkle {

class ProofWriter {
 public:
  ProofWriter();
  void add(const Node& node);                  // adds the whole node
  void add(const Node& search, size_t entry);  // adds the section with this entry; none if it is behind the last
  Bytes done() { return std::move(out_); }

 private:
  Bytes out_;
};

// Returns the key's value; nullopt: it isn't there. A failure (BadValue) says why the bytes are no proof for the key. Any byte of
// them may have been changed, or all of them made up.
base::Result<std::optional<Bytes>> verify(const Hash& root, BytesView key, BytesView proof);

}  // namespace versions::merkle
