// The source cache holds the contents that the next ones will be compared with
// (dbDedup §4.2.1): the newest of each chain, and the chains' latest hop bases.
#pragma once

#include "base/lru.h"
#include "dedup/content.h"

namespace dedup {

// The cache isn't thread-safe.
class SourceCache {
 public:
  // Hop bases get a quarter: each is wanted once in H contents.
  explicit SourceCache(size_t bytes_max) : newest_(bytes_max - bytes_max / 4), hop_bases_(bytes_max / 4) {}

  // Returns nullptr on a miss. The content is valid until the next call that isn't const.
  const Bytes* find(const ContentId& id) {
    if (const Bytes* bytes = newest_.get(id)) return bytes;
    return hop_bases_.get(id);
  }
  bool contains(const ContentId& id) const { return newest_.contains(id) || hop_bases_.contains(id); }

  void add(const ContentId& id, BytesView content) { newest_.put(id, Bytes(content), content.size()); }
  // Algorithm 3: the newest of a chain takes its predecessor's place.
  void replace(const ContentId& predecessor, bool predecessor_is_hop_base, const ContentId& id, BytesView content) {
    Bytes room;  // the predecessor's name, where the predecessor isn't kept
    if (Bytes* old = newest_.get(predecessor)) {
      if (predecessor_is_hop_base) {
        const size_t bytes = old->size();
        hop_bases_.put(predecessor, std::move(*old), bytes);
      } else {
        room = std::move(*old);
      }
      newest_.erase(predecessor);
    }
    room.assign(content);
    newest_.put(id, std::move(room), content.size());
  }
  void forget(const ContentId& id) {
    newest_.erase(id);
    hop_bases_.erase(id);
  }
  void clear() {
    newest_.clear();
    hop_bases_.clear();
  }

  void set_bytes_max(size_t bytes_max) {
    newest_.set_cost_max(bytes_max - bytes_max / 4);
    hop_bases_.set_cost_max(bytes_max / 4);
  }

  size_t bytes() const { return newest_.cost() + hop_bases_.cost(); }

 private:
  base::Lru<ContentId, Bytes> newest_;
  base::Lru<ContentId, Bytes> hop_bases_;
};

}  // namespace dedup
