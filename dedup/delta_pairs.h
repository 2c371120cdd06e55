// Delta codecs are measured with these pairs of contents. They are made up, hostile, or, where PALIMPSEST_DATASETS names their
// folder, consecutive revisions of real texts.
#pragma once

#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "dedup/content.h"

namespace dedup::bench {

struct Pair {
  Bytes source, target;
};
using Pairs = std::vector<Pair>;
using PairSets = std::map<std::string, Pairs>;

inline Bytes noise(base::Random& random, size_t bytes) {
  Bytes out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Draws words from a vocabulary by rank, those with low ranks often.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random(seed) {
    for (int i = 0; i < 4000; ++i) {
      Bytes word;
      for (uint64_t letters = 2 + random.below(4) + random.below(5); letters > 0; --letters)
        word += "etaoinshrdlucmfwypvbgk"[random.below(22)];
      words_.push_back(word);
    }
  }

  Bytes prose(size_t bytes) {
    Bytes text;
    while (text.size() < bytes) text += word(), text += random.below(14) ? " " : random.below(4) ? ". " : "\n\n";
    text.resize(bytes);
    return text;
  }
  const Bytes& word() {
    const double u = random.unit();
    return words_[static_cast<size_t>(u * u * u * static_cast<double>(words_.size()))];
  }

  // Edits as Table 6.1 describes Wikipedia: a few changes, most of a word, some of a sentence, now and then a paragraph that
  // moves.
  Bytes revised(Bytes text) {
    for (uint64_t changes = 1 + random.below(8); changes > 0; --changes) {
      const size_t at = random.below(text.size());
      const uint64_t kind = random.below(20);
      if (kind < 6) {
        text.replace(at, 1 + random.below(3), word().substr(0, 1 + random.below(3)));
      } else if (kind < 10) {
        text.replace(at, random.below(12), word());
      } else if (kind < 13) {
        text.erase(at, random.below(80));
      } else if (kind < 19) {
        text.insert(at, prose(10 + random.below(kind == 18 ? 600 : 120)));
      } else {
        const Bytes moved = text.substr(at, random.below(600));
        text.erase(at, moved.size());
        text.insert(random.below(text.size() + 1), moved);
      }
    }
    return text;
  }

  // Makes many small objects with the same names in them.
  Bytes json(size_t bytes) {
    Bytes text = "{\"browsers\":[";
    while (text.size() < bytes) {
      text += "{\"version\":\"" + std::to_string(random.below(120)) + "." + std::to_string(random.below(10)) +
              "\",\"support\":\"" + (random.below(3) ? "y" : "n d #1") +
              "\",\"usage_global\":" + std::to_string(random.below(100000)) + ",\"notes\":\"" + (random.below(4) ? "" : word()) +
              "\",\"partial\":" + (random.below(2) ? "true" : "false") + "},";
    }
    text.back() = ']';
    return text + "}";
  }
  // Changes values here and there, and adds and removes entries.
  Bytes json_revised(Bytes text) {
    for (uint64_t changes = 1 + random.below(6); changes > 0; --changes) {
      const size_t object = text.find('{', 1 + random.below(text.size() / 2));
      const size_t end = object == Bytes::npos ? object : text.find('}', object);
      if (end == Bytes::npos || end + 1 >= text.size()) continue;
      const uint64_t kind = random.below(6);
      const size_t usage = text.find("global\":", object);
      if (kind == 0) text.erase(object, end + 2 - object);
      if (kind == 1) text.insert(object, json(60).substr(13, 90) + "\"},");
      if (kind > 1 && usage != Bytes::npos) text.replace(usage + 8, 1, std::to_string(random.below(1000)));
    }
    return text;
  }

  base::Random random;

 private:
  std::vector<Bytes> words_;
};

inline PairSets made_up_pairs() {
  PairSets sets;
  Writer writer(1);
  for (const auto& [name, bytes, pairs] :
       {std::tuple{"1k", 1100, 1000}, {"4k", 4100, 400}, {"16k", 16'300, 200}, {"64k", 62'000, 50}}) {
    Pairs& prose = sets[Bytes("prose_") + name];
    Pairs& json = sets[Bytes("json_") + name];
    for (int i = 0; i < pairs; ++i) {
      Bytes text = writer.prose(static_cast<size_t>(bytes)), record = writer.json(static_cast<size_t>(bytes));
      Bytes revised = writer.revised(text), changed = writer.json_revised(record);
      prose.push_back({std::move(text), std::move(revised)});
      json.push_back({std::move(record), std::move(changed)});
    }
  }
  return sets;
}

// These pairs make codecs slow. Each content has 16 MB, except for the target of small_of_large.
constexpr const char* hostile_names[] = {"unrelated",   "permuted_16",   "permuted_32",    "permuted_64",
                                         "swapped_16",  "every_12th",    "small_of_large", "zeros_and_noise",
                                         "boilerplate", "strange_prose", "zeros",          "period_41"};

inline Pair hostile_pair(const std::string& name) {
  constexpr size_t bytes = 16 << 20;
  Writer writer(2);
  base::Random& random = writer.random;
  if (name == "boilerplate") return {writer.json(bytes), writer.json(bytes)};
  if (name == "strange_prose") return {writer.prose(bytes), writer.prose(bytes)};
  if (name == "zeros") return {Bytes(bytes, '\0'), Bytes(bytes - 1, '\0') + '1'};
  if (name == "zeros_and_noise") {
    Bytes sparse(bytes, '\0'), other(bytes, '\0');
    for (size_t i = 0; i + 80 < bytes; i += 200 + random.below(200))
      sparse.replace(i, 40, noise(random, 40)), other.replace(i, 40, noise(random, 40));
    return {sparse, other};
  }
  if (name == "period_41") {
    Bytes period;
    while (period.size() < bytes) period += "abcdefghijklmnopqrstuvwxyz0123456789ABCDE";
    Bytes shifted = period.substr(7) + "abcdefg";
    for (size_t i = 0; i < bytes; i += 60) shifted[i] = '*';
    return {period, shifted};
  }
  const Bytes strange = noise(random, bytes);
  if (name == "every_12th") {
    Bytes changed = strange;
    for (size_t i = 0; i < bytes; i += 12) changed[i] ^= 1;
    return {strange, changed};
  }
  if (name == "unrelated") return {strange, noise(random, bytes)};
  if (name == "small_of_large") {
    Bytes pieces;  // of 256 bytes, so that the source must be searched for each
    while (pieces.size() < (1 << 20)) pieces.append(strange, random.below(bytes - 256), 256);
    return {strange, pieces};
  }
  if (name == "swapped_16") {
    Bytes swapped;
    for (size_t i = 0; i < bytes; i += 32) swapped.append(strange, i + 16, 16).append(strange, i, 16);
    return {strange, swapped};
  }
  const size_t block = name == "permuted_16" ? 16 : name == "permuted_32" ? 32 : 64;
  Bytes permuted;
  for (size_t i = 0; i < bytes / block; ++i) permuted.append(strange, random.below(bytes / block) * block, block);
  return {strange, permuted};
}

// --- Real ones -------------------------------------------------------------------------------

inline Bytes read_zstd(const std::string& path) {
  Bytes packed, out;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return out;
  char buffer[1 << 16];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) packed.append(buffer, n);
  std::fclose(file);
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 27);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer piece{buffer, sizeof buffer, 0};
    if (ZSTD_isError(ZSTD_decompressStream(context, &piece, &in))) break;
    out.append(buffer, piece.pos);
  }
  ZSTD_freeDCtx(context);
  return out;
}

inline void add_pair(PairSets& sets, const std::string& name, const Bytes& source, const Bytes& target) {
  if (source == target || source.size() < 100) return;
  for (const auto& [size, from, to] :
       {std::tuple{"_1k", 700u, 1500u}, {"_4k", 2800u, 5900u}, {"_16k", 11'000u, 23'000u}, {"_64k", 45'000u, 91'000u}})
    if (target.size() >= from && target.size() < to) sets[name + size].push_back({source, target});
}

// Reads the texts of consecutive revisions of a MediaWiki export, in the file's order.
inline void add_wiki(PairSets& sets, const std::string& path) {
  const Bytes xml = read_zstd(path);
  Bytes last;
  for (size_t at = 0; (at = xml.find('<', at)) != Bytes::npos; ++at) {
    if (xml.compare(at, 6, "<page>") == 0) last.clear();
    if (xml.compare(at, 6, "<text ") != 0) continue;
    const size_t from = xml.find('>', at) + 1, to = xml.find('<', from);
    if (from == 0 || to == Bytes::npos) break;
    Bytes text;
    for (size_t i = from; i < to; ++i) {
      static const std::pair<const char*, char> entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
      char c = xml[i];
      if (c == '&')
        for (const auto& [entity, meaning] : entities)
          if (xml.compare(i, std::strlen(entity), entity) == 0) c = meaning, i += std::strlen(entity) - 1;
      text += c;
    }
    if (!last.empty()) add_pair(sets, "wiki", last, text);
    last = std::move(text);
    at = to;
  }
}

// Reads {"op":…,"coll":…,"key":…,"record":{…}} of each line, in the file's order.
inline void add_versions(PairSets& sets, const std::string& path) {
  const Bytes lines = read_zstd(path);
  std::map<Bytes, Bytes> records;
  constexpr BytesView before = "\"record\":";
  for (size_t at = 0; (at = lines.find("{\"op\":", at)) != Bytes::npos;) {
    size_t record = lines.find(before, at);
    const size_t next = lines.find("{\"op\":", at + 1);
    if (record == Bytes::npos) break;
    if (record > next) {
      at = next;
      continue;
    }  // a delete
    const Bytes key = lines.substr(lines.find(',', at), record - lines.find(',', at));
    record = lines.find_first_not_of(' ', record + before.size());
    size_t to = record;
    bool quoted = false;
    for (int depth = 0; to < lines.size(); ++to) {
      const char c = lines[to];
      if (quoted && c == '\\')
        ++to;
      else if (c == '"')
        quoted = !quoted;
      else if (!quoted && (c == '{' || c == '['))
        ++depth;
      else if (!quoted && (c == '}' || c == ']') && --depth <= 0) {
        ++to;
        break;
      }
    }
    Bytes now = lines.substr(record, to - record);
    Bytes& last = records[key];
    if (!last.empty()) add_pair(sets, "versions", last, now);
    last = std::move(now);
    at = to;
  }
}

inline PairSets real_pairs() {
  PairSets sets;
  if (const char* folder = std::getenv("PALIMPSEST_DATASETS")) {
    add_wiki(sets, std::string(folder) + "/wiki/emacswiki-history.xml.zst");
    add_versions(sets, std::string(folder) + "/versions/congress-legislators.jsonl.zst");
  }
  // About 8 MB of each are enough, evenly spread, so that they fit a cache.
  for (auto& [name, pairs] : sets) {
    const size_t wanted = std::min<size_t>(pairs.size(), std::max<size_t>(100, (8 << 20) / (pairs[0].target.size() + 1)));
    Pairs some;
    for (size_t i = 0; i < wanted; ++i) some.push_back(std::move(pairs[i * pairs.size() / wanted]));
    pairs = std::move(some);
  }
  return sets;
}

}  // namespace dedup::bench
