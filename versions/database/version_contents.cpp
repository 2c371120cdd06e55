#include "versions/database/version_contents.h"

#include "base/guarded.h"
#include "bson/validate.h"

namespace versions {

namespace {

using base::guarded;
using bson::Document;

constexpr size_t held_bytes_max = 256 << 20;
constexpr size_t contents_bytes_max = held_bytes_max / 2;  // of one document
constexpr size_t changes_tried_max = 10'000;               // for each document
constexpr size_t ask_every = 64;

// Nothing may be made of what a damaged record has.
std::optional<Document> sound(std::optional<Bytes> content) {
  if (!content) return std::nullopt;
  const auto valid = bson::validate(*content);
  if (!valid.ok() || valid.value().size() != content->size()) return std::nullopt;
  return Document(std::move(*content));
}

size_t bytes_of(const std::optional<Document>& document) {
  return document ? document->bytes().size() : 0;
}

}  // namespace

std::optional<Document> VersionContents::after(Transaction& transaction, const Bytes& key, size_t step,
                                               const Interrupted& interrupted) {
  make_room();
  const std::vector<Step>& steps = lines_.steps(key);
  OfKey& of = of_keys_[key];
  std::vector<size_t> changes;
  size_t at = step;
  auto known = of.made.find(at);
  for (; known == of.made.end() && steps[at].before; known = of.made.find(at)) {
    changes.push_back(at);
    at = *steps[at].before;
  }
  if (known != of.made.end() && at == step) return known->second;
  std::optional<Document> document;
  if (known == of.made.end()) {
    document = begin_of(transaction, key, steps[at]);
  } else {
    held_bytes_ -= bytes_of(known->second);
    document = std::move(known->second);
    of.made.erase(known);
  }
  for (auto change = changes.rbegin(); document && change != changes.rend(); ++change)
    document = changed(steps[*change].stamp, document, interrupted);
  keep_made(of, step, document);
  return document;
}

std::optional<Document> VersionContents::with_hash(Transaction& transaction, const Bytes& key, const Hash& hash,
                                                   const Interrupted& interrupted) {
  make_room();
  const auto& all = contents(transaction, key, interrupted);
  const auto at = all.find(hash);
  return at == all.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Document> VersionContents::changed_to(Transaction& transaction, const Bytes& key, size_t step, const Hash& hash,
                                                    const Interrupted& interrupted) {
  make_room();
  const std::vector<Step>& steps = lines_.steps(key);
  std::vector<Stamp> changes;
  for (size_t at = step; steps[at].before; at = *steps[at].before) changes.push_back(steps[at].stamp);
  OfKey& of = of_keys_[key];
  for (const auto& [each, content] : contents(transaction, key, interrupted)) {
    std::optional<Document> document = content;
    for (auto change = changes.rbegin(); document && change != changes.rend(); ++change) {
      of.gave_up = of.gave_up || ++of.changes_tried > changes_tried_max;
      if (of.gave_up) return std::nullopt;
      document = changed(*change, document, interrupted);
    }
    if (!document || sha256(document->bytes()) != hash) continue;
    keep_made(of, step, document);
    if (of.contents->emplace(hash, *document).second) held_bytes_ += bytes_of(document);
    return document;
  }
  return std::nullopt;
}

bool VersionContents::gave_up(const Bytes& key) const {
  const auto at = of_keys_.find(key);
  return at != of_keys_.end() && at->second.gave_up;
}

std::optional<Document> VersionContents::begin_of(Transaction& transaction, const Bytes& key, const Step& first) {
  return guarded([&]() -> std::optional<Document> {
    switch (first.kind) {
      case Step::Kind::has: return log_.after(first.stamp, std::nullopt);
      case Step::Kind::names: return sound(shared_.base.records().find(transaction, first.record, first.stamp));
      case Step::Kind::shown_by: {
        const auto commit = shared_.graph.find(transaction, first.commit);
        if (!commit || shared_.graph.dropped(transaction, *commit)) return std::nullopt;
        return sound(shared_.store.get(transaction, shared_.view_of(transaction, *commit), key));
      }
      case Step::Kind::unknown:
      case Step::Kind::changes: break;
    }
    return std::nullopt;
  });
}

const std::map<Hash, Document>& VersionContents::contents(Transaction& transaction, const Bytes& key,
                                                          const Interrupted& interrupted) {
  OfKey& of = of_keys_[key];
  if (!of.contents) read_contents(transaction, key, of, interrupted);
  return *of.contents;
}

// Each record and each entry is read once. Beyond the limit, those that were read before are kept.
void VersionContents::read_contents(Transaction& transaction, const Bytes& key, OfKey& of, const Interrupted& interrupted) {
  std::map<Hash, Document> all;
  size_t bytes = 0;
  bool full = false;
  const auto add = [&](const std::optional<Document>& document) {
    if (!document) return;
    const Hash hash = sha256(document->bytes());
    if (all.contains(hash)) return;
    full = bytes + bytes_of(document) > contents_bytes_max;
    if (full) return;
    bytes += bytes_of(document);
    all.emplace(hash, *document);
  };
  for (const Version& version : guarded([&] { return shared_.store.history(transaction, key); })) {
    ask(interrupted);
    add(guarded([&] { return sound(shared_.store.content(transaction, version.record)); }));
    if (full) break;
  }
  const std::vector<Step>& steps = lines_.steps(key);
  std::vector<std::optional<Document>> made;  // a step is changed by one other at most
  for (size_t i = 0; i < steps.size() && !full; ++i) {
    const Step& step = steps[i];
    ask(interrupted);
    made.push_back(step.before ? std::nullopt : begin_of(transaction, key, step));
    if (step.before && made[*step.before]) {
      made.back() = log_.after(step.stamp, made[*step.before]);
      made[*step.before].reset();
    }
    add(made.back());
  }
  of.gave_up = of.gave_up || full;
  of.contents = std::move(all);
  held_bytes_ += bytes;
}

std::optional<Document> VersionContents::changed(Stamp stamp, const std::optional<Document>& before,
                                                 const Interrupted& interrupted) {
  ask(interrupted);
  return log_.after(stamp, before);
}

void VersionContents::ask(const Interrupted& interrupted) {
  if (interrupted && ++asked_ % ask_every == 0) interrupted();
}

void VersionContents::keep_made(OfKey& of, size_t step, const std::optional<Document>& document) {
  std::optional<Document>& kept = of.made[step];
  held_bytes_ += bytes_of(document) - bytes_of(kept);
  kept = document;
}

// Contents that are forgotten here are read again when somebody asks for them.
void VersionContents::make_room() {
  if (held_bytes_ <= held_bytes_max) return;
  for (auto& [key, of] : of_keys_) {
    of.made.clear();
    of.contents.reset();
  }
  held_bytes_ = 0;
}

}  // namespace versions
