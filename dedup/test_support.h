// The tests of this folder share these texts, edits and stores in memory.
#pragma once

#include <map>

#include "base/hash.h"
#include "base/random.h"
#include "dedup/decoder.h"
#include "dedup/encoder.h"
#include "dedup/memory_pages.h"

namespace dedup::test {

inline Bytes random_bytes(base::Random& random, size_t bytes, uint64_t alphabet = 256) {
  Bytes out;
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(random.below(alphabet));
  return out;
}

inline Bytes prose(base::Random& random, size_t bytes) {
  Bytes text;
  while (text.size() < bytes) {
    for (uint64_t letters = 2 + random.below(8); letters > 0; --letters) text += static_cast<char>('a' + random.below(26));
    text += random.below(12) ? ' ' : '\n';
  }
  text.resize(bytes);
  return text;
}

// Edits by insertions, deletions, replacements and moved blocks.
inline Bytes edited(base::Random& random, Bytes text, uint64_t edits) {
  for (; edits > 0; --edits) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0: text.insert(at, prose(random, random.below(80))); break;
      case 1: text.erase(at, random.below(80)); break;
      case 2: {
        const Bytes with = prose(random, random.below(40));  // first: compilers differ in which argument is
        text.replace(at, random.below(40), with);
        break;
      }
      case 3: {
        const Bytes block = text.substr(at, random.below(500));
        text.erase(at, block.size());
        text.insert(random.below(text.size() + 1), block);
      }
    }
  }
  return text;
}

// Keeps contents as a server would: raw, or as the encoder advised.
class MemoryRecords : public RecordSource, public FormSource {
 public:
  void insert(const ContentId& id, BytesView content) {
    forms[id] = {true, Bytes(content), {}, base::checksum32(content), static_cast<uint32_t>(content.size())};
  }
  void write_back(const Backward& backward) {
    StoredForm& form = forms.at(backward.target);
    form.raw = false;
    form.bytes = backward.delta;
    form.base = backward.base;
  }
  base::Result<StoredForm> fetch_form(const ContentId& id) override {
    const auto form = forms.find(id);
    if (form == forms.end()) return base::Failure{base::ErrorCode::no_such_key, "no content " + to_string(id)};
    return form->second;
  }
  std::optional<Bytes> fetch(const ContentId& id) override {
    ++fetches;
    auto content = decode(id, *this);
    return content ? std::optional(std::move(content).value()) : std::nullopt;
  }
  size_t stored_bytes() const {
    size_t bytes = 0;
    for (const auto& [id, form] : forms) bytes += form.bytes.size();
    return bytes;
  }

  std::map<ContentId, StoredForm> forms;
  size_t fetches = 0;
};

}  // namespace dedup::test
