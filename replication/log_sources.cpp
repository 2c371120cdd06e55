#include "replication/log_sources.h"

#include <algorithm>

#include "base/hash.h"
#include "base/random.h"
#include "bson/keystring.h"

namespace replication {

using storage::Stamp;

LogSources::LogSources(size_t bytes_max)
    : bytes_max_(bytes_max), sketcher_(dedup::Options::of(dedup::Profile::balanced), base::entropy64()) {}

Bytes LogSources::key_of(BytesView uuid, const bson::ValueView& id) {
  bson::KeyString value;
  value.append(id);
  Bytes key(uuid);
  key.append(value.bytes());
  return key;
}

// About what the content and its places in the maps take.
size_t LogSources::cost(const Content& content) {
  constexpr size_t fixed = 400, feature = 64;
  return content.bytes.size() + 2 * content.key.size() + fixed + feature * content.features.size();
}

dedup::Features LogSources::sketch(BytesView uuid, BytesView content) const {
  return sketcher_.sketch(base::checksum32(uuid), content);
}

const LogSources::Content* LogSources::used(Place place) {
  contents_.splice(contents_.begin(), contents_, place);
  return &*place;
}

const LogSources::Content* LogSources::find(const Bytes& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : used(found->second);
}

const LogSources::Content* LogSources::find(Stamp stamp) {
  const auto found = by_stamp_.find(stamp);
  return found == by_stamp_.end() ? nullptr : used(found->second);
}

std::vector<const LogSources::Content*> LogSources::find_similar(const dedup::Features& features, size_t count) {
  std::array<std::pair<uint32_t, Stamp>, dedup::Features::max * matches_max> votes;
  auto end = votes.begin();
  for (const uint32_t feature : features) {
    const auto found = by_feature_.find(feature);
    if (found == by_feature_.end()) continue;
    for (const Stamp stamp : found->second) {
      if (stamp == 0) break;
      const auto vote = std::find_if(votes.begin(), end, [&](const auto& one) { return one.second == stamp; });
      if (vote != end)
        ++vote->first;
      else
        *end++ = {1, stamp};
    }
  }
  std::sort(votes.begin(), end, std::greater<>());
  std::vector<const Content*> found;
  for (auto vote = votes.begin(); vote != end && found.size() < count; ++vote) found.push_back(&*by_stamp_.at(vote->second));
  return found;
}

void LogSources::index(Place place) {
  place->sketched = true;
  for (const uint32_t feature : place->features) {
    auto& stamps = by_feature_[feature];
    auto at = std::find_if(stamps.begin(), stamps.end(), [&](Stamp stamp) { return stamp < place->stamp; });
    if (at == stamps.end()) continue;
    std::move_backward(at, stamps.end() - 1, stamps.end());
    *at = place->stamp;
  }
}

void LogSources::erase(Place place) {
  if (place->sketched) {
    for (const uint32_t feature : place->features) {
      const auto found = by_feature_.find(feature);
      if (found == by_feature_.end()) continue;
      auto& stamps = found->second;
      std::fill(std::remove(stamps.begin(), stamps.end(), place->stamp), stamps.end(), 0);
      if (stamps.front() == 0) by_feature_.erase(found);
    }
  }
  bytes_ -= cost(*place);
  by_key_.erase(place->key);
  by_stamp_.erase(place->stamp);
  contents_.erase(place);
}

void LogSources::put(Bytes key, Stamp stamp, BytesView content, const dedup::Features* features) {
  forget(key);
  if (const auto found = by_stamp_.find(stamp); found != by_stamp_.end()) erase(found->second);
  Content made{stamp, std::move(key), Bytes(content), {}, false};
  if (features) made.features = *features;
  const size_t needed = cost(made);
  if (needed > bytes_max_) return;
  while (bytes_ + needed > bytes_max_) erase(std::prev(contents_.end()));
  bytes_ += needed;
  contents_.push_front(std::move(made));
  by_key_.emplace(contents_.front().key, contents_.begin());
  by_stamp_.emplace(stamp, contents_.begin());
  if (features) index(contents_.begin());
}

void LogSources::forget(const Bytes& key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) erase(found->second);
}

void LogSources::clear() {
  contents_.clear();
  by_key_.clear();
  by_stamp_.clear();
  by_feature_.clear();
  bytes_ = 0;
}

void LogSources::sketch_all() {
  for (auto place = contents_.begin(); place != contents_.end(); ++place) {
    if (place->sketched) continue;
    bytes_ -= cost(*place);
    place->features = sketch(BytesView(place->key).substr(0, uuid_bytes), place->bytes);
    bytes_ += cost(*place);
    index(place);
  }
}

}  // namespace replication
