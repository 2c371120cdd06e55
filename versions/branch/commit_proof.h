// A CommitProof proves what a commit says of one document to somebody who has the commit's id alone: docs/formats/merkle.md,
// tools/verify_proof.
//
//   id = SHA-256(statement)     statement: parents, metadata, time, and a root for each collection
//   root -> key                 the tree's proof, of presence or absence
//   SHA-256(document)           the hash that the tree has for the key
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct CommitProof {
  std::optional<Hash> hash;   // the document's hash; nullopt: the commit doesn't have the document
  bool has_document = false;  // whether the proof contains the document; it doesn't if the document was purged since
  Bytes bytes;
};

// Throws IllegalOperation for commits whose ids say nothing of documents: a database's first one, and those from before there
// were roots.
CommitProof prove(Transaction& transaction, Branches& branches, CommitNumber commit, size_t collection, BytesView key);

}  // namespace versions
