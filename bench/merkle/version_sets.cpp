#include "bench/merkle/version_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "datasets/source.h"

namespace bench::merkle {
namespace {

constexpr size_t abstract_bytes_max = 1'036;

struct Edit {
  int64_t time_ms;
  Record record;
};

Bytes address_of(const datasets::Item& item) {
  const auto page = item.document.view()["page"];
  const auto title = page.is_object() ? page.as_document()["title"] : bson::Element();
  Bytes name = title.is_string() ? Bytes(title.as_string()) : fmt::format("Page_{}", item.group);
  std::replace(name.begin(), name.end(), ' ', '_');
  return "https://en.wikipedia.org/wiki/" + name;
}

void note_keys(VersionSet& set) {
  std::unordered_set<Bytes> seen;
  uint64_t records = 0, key_bytes = 0, value_bytes = 0;
  for (const auto& batch : set.batches) {
    for (const Record& one : batch) {
      if (seen.insert(one.key).second) set.keys.push_back(one.key);
      ++records;
      key_bytes += one.key.size();
      value_bytes += one.value.size();
    }
  }
  set.about += fmt::format(
      "; {} writes to {} keys in {} versions, keys of {:.0f} B and values of {:.0f} B in the mean, {:.1f} MB", records,
      set.keys.size(), set.batches.size(), static_cast<double>(key_bytes) / static_cast<double>(records),
      static_cast<double>(value_bytes) / static_cast<double>(records), static_cast<double>(key_bytes + value_bytes) / 1e6);
}

}  // namespace

VersionSet text_versions(const std::optional<std::string>& data, uint64_t records, size_t versions) {
  datasets::Problems problems(datasets::Problems::Policy::skip);
  const std::string wiki = data ? *data + "/wiki" : "";
  const bool real = data && std::filesystem::exists(wiki);
  datasets::Source source({.source = real ? wiki : "synthetic:wikipedia", .records = records}, problems);
  std::vector<Edit> edits;
  while (const auto item = source.next()) {
    const auto text = item->document.view()["text"];
    if (!text.is_string()) continue;
    edits.push_back({item->timestamp_ms, {address_of(*item), Bytes(text.as_string().substr(0, abstract_bytes_max))}});
  }
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.time_ms < b.time_ms; });
  VersionSet set{.about = real ? "the Emacs wiki's edits" : "made-up edits",
                 .batches = std::vector<std::vector<Record>>(std::min(versions, edits.size())),
                 .keys = {}};
  for (size_t i = 0; i < edits.size(); ++i)
    set.batches[i * set.batches.size() / edits.size()].push_back(std::move(edits[i].record));
  note_keys(set);
  return set;
}

VersionSet transaction_blocks(size_t blocks, size_t transactions_a_block) {
  constexpr double shortest = 100, longest = 57'738, exponent = 1.205;  // mean 532
  VersionSet set{.about = "made-up transactions", .batches = std::vector<std::vector<Record>>(blocks), .keys = {}};
  base::Random random(8'900'000);
  for (auto& batch : set.batches) {
    for (size_t i = 0; i < transactions_a_block; ++i) {
      Bytes key;
      while (key.size() < 64) key += fmt::format("{:016x}", random());
      const double length = std::min(longest, shortest * std::pow(1 - random.unit(), -1 / exponent));
      Bytes value(static_cast<size_t>(length), '\0');
      for (char& c : value) c = static_cast<char>(random());
      batch.push_back({std::move(key), std::move(value)});
    }
  }
  note_keys(set);
  return set;
}

}  // namespace bench::merkle
