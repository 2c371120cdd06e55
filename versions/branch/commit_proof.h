// What a commit says of one document, for who has the commit's id alone: docs/formats/merkle.md, tools/verify_proof.
//
//   id = SHA-256(statement)     statement: parents, metadata, time, and a root a collection
//   root -> key                 the tree's proof, of presence or absence
//   SHA-256(document)           what the tree says of the key
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct CommitProof {
  std::optional<Hash> hash;   // of the document; nullopt: the commit has none
  bool has_document = false;  // it is in the proof; else it was purged since
  Bytes bytes;
};

// Throws IllegalOperation for commits whose ids say nothing of documents: a database's first, and those from before there were
// roots.
CommitProof prove(Transaction& transaction, Branches& branches, CommitNumber commit, size_t collection, BytesView key);

}  // namespace versions
