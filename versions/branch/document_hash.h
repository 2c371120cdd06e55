// These functions make what a commit's tree says of a document.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "versions/merkle/hash.h"

namespace versions {

using base::Bytes;
using base::BytesView;
using merkle::Hash;
using merkle::sha256;
using merkle::view;

// The key that tells documents apart: the key string of the `_id` (bson/keystring.h). So {_id: 1} and {_id: 1.0} are one
// document.
Bytes key_of(BytesView document);

struct DocumentHash {
  Bytes key;
  std::optional<Hash> hash;  // SHA-256 of its bytes; nullopt: the document is gone
};

// Hashes documents, many side by side. The operation can be interrupted whenever some are hashed (InterruptibleWaits).
class HashedDocuments {
 public:
  // Receives each document's hash in the order in which the documents were added, some calls later.
  using Each = std::function<void(Bytes key, const Hash& hash)>;
  explicit HashedDocuments(Each each) : each_(std::move(each)) {}

  void add(BytesView document) { add(key_of(document), document); }
  void add(Bytes key, BytesView document);
  void finish();  // hashes all that are left

 private:
  static constexpr size_t bytes_max = 64 << 10;  // documents are still in the processor's cache when they are hashed
  struct Waiting {
    Bytes key;
    size_t end;
  };
  Each each_;
  Bytes contents_;
  std::vector<Waiting> waiting_;
};

}  // namespace versions
