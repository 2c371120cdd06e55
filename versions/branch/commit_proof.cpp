#include "versions/branch/commit_proof.h"

#include "base/varint.h"

namespace versions {

namespace {

constexpr BytesView magic("PMC\1", 4);

void append_text(Bytes& out, BytesView text) {
  base::append_varint(out, text.size());
  out.append(text);
}

[[noreturn]] void says_nothing(const char* why) {
  throw base::OperationError(base::ErrorCode::illegal_operation,
                             std::string("the commit's id says nothing of documents: ") + why);
}

}  // namespace

CommitProof prove(Transaction& transaction, Branches& branches, CommitNumber number, size_t collection, BytesView key) {
  const auto commit = branches.graph().commit(transaction, number);
  const auto& [label, parts] = branches.collection(collection);
  const CollectionState* state = commit->state_of(parts.collection);
  if (commit->digests == DigestKind::sums) says_nothing("it is from before commits had roots, later ones have");
  if (commit->parents.empty()) says_nothing("it is the database's first, the next one's does");
  CommitProof proof{.hash = {}, .has_document = false, .bytes = Bytes(magic)};
  append_text(proof.bytes, branches.graph().statement(transaction, *commit));
  append_text(proof.bytes, label);
  append_text(proof.bytes, key);
  const auto root = state ? commit->root_of(*state) : std::nullopt;
  append_text(proof.bytes, root ? branches.roots().prove(transaction, *root, key) : Bytes());
  if (root) proof.hash = branches.roots().find(transaction, *root, key);
  const auto document = proof.hash
                            ? branches.store(collection).get(transaction, branches.view(transaction, number, collection), key)
                            : std::nullopt;
  proof.has_document = document.has_value();
  base::append_varint(proof.bytes, document ? document->size() + 1 : 0);
  if (document) proof.bytes.append(*document);
  return proof;
}

}  // namespace versions
