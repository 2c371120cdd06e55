#include "versions/branch/document_hash.h"

#include "bson/document.h"
#include "bson/keystring.h"
#include "storage/engine/interruptible_waits.h"

namespace versions {

Bytes key_of(BytesView document) {
  bson::KeyString key;
  key.append(bson::DocumentView(document).find("_id"));
  return std::move(key).bytes();
}

void HashedDocuments::add(Bytes key, BytesView document) {
  contents_.append(document);
  waiting_.push_back({std::move(key), contents_.size()});
  if (contents_.size() < bytes_max) return;
  storage::ask_interrupted();
  finish();
}

void HashedDocuments::finish() {
  std::vector<Hash> hashes(waiting_.size());
  std::vector<merkle::Message> messages;
  messages.reserve(waiting_.size());
  size_t begin = 0;
  for (size_t i = 0; i < waiting_.size(); begin = waiting_[i++].end) {
    messages.push_back({BytesView(contents_).substr(begin, waiting_[i].end - begin), &hashes[i]});
  }
  merkle::sha256_many(messages);
  for (size_t i = 0; i < waiting_.size(); ++i) each_(std::move(waiting_[i].key), hashes[i]);
  contents_.clear();
  waiting_.clear();
}

}  // namespace versions
