#include "bench/merkle/records.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "bench/measure/cpu_clock.h"

namespace bench::merkle {
namespace {

constexpr char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

}  // namespace

std::vector<siri::Change> in_order(const Record* records, size_t count) {
  std::vector<siri::Change> changes;
  changes.reserve(count);
  for (size_t i = 0; i < count; ++i) changes.push_back({records[i].key, records[i].value});
  std::stable_sort(changes.begin(), changes.end(), [](const siri::Change& a, const siri::Change& b) { return a.key < b.key; });
  const auto end =
      std::unique(changes.rbegin(), changes.rend(), [](const siri::Change& a, const siri::Change& b) { return a.key == b.key; });
  changes.erase(changes.begin(), end.base());
  return changes;
}

Bytes key_of(uint64_t number, size_t key_bytes_min) {
  constexpr uint64_t space = 36ull * 36 * 36 * 36 * 36;
  uint64_t left = number * 48'271'043 % space;  // the two have no factor in common: keys are distinct, and in no order
  base::Random random(number);
  Bytes key;
  for (int i = 0; i < 5; ++i, left /= 36) key.push_back(letters[left % 36]);
  for (uint64_t more = key_bytes_min - 5 + random.below(16 - key_bytes_min); more > 0; --more)
    key.push_back(letters[random.below(36)]);
  return key;
}

Record record(uint64_t number, uint64_t version, size_t key_bytes_min) {
  base::Random random(number * 1'000'003 + version);
  Bytes value(256, '\0');
  for (size_t i = 0; i < value.size(); i += 8) base::store_le(value.data() + i, random());
  return {key_of(number, key_bytes_min), std::move(value)};
}

std::vector<Record> records(uint64_t first, uint64_t count, size_t key_bytes_min) {
  std::vector<Record> all;
  all.reserve(count);
  for (uint64_t i = 0; i < count; ++i) all.push_back(record(first + i, 0, key_bytes_min));
  return all;
}

void shuffle(std::vector<Record>& records, base::Random& random) {
  for (size_t i = records.size(); i > 1; --i) std::swap(records[i - 1], records[random.below(i)]);
}

Zipf::Zipf(uint64_t below, double theta) : below_(below), theta_(theta) {
  if (theta == 0) return;
  for (uint64_t i = 1; i <= below; ++i) zeta_ += 1 / std::pow(static_cast<double>(i), theta);
  alpha_ = 1 / (1 - theta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(below), 1 - theta)) / (1 - (1 + std::pow(0.5, theta)) / zeta_);
}

uint64_t Zipf::next(base::Random& random) const {
  if (theta_ == 0) return random.below(below_);
  const double u = random.unit(), uz = u * zeta_;
  if (uz < 1) return 0;
  if (uz < 1 + std::pow(0.5, theta_)) return 1;
  return std::min(below_ - 1, static_cast<uint64_t>(static_cast<double>(below_) * std::pow(eta_ * u - eta_ + 1, alpha_)));
}

double Tree::put(const std::vector<Record>& records, size_t batch, std::vector<siri::Hash>* roots) {
  const CpuWatch watch;
  for (size_t i = 0; i < records.size(); i += batch) {
    root = index->update(nodes, root, in_order(records.data() + i, std::min(batch, records.size() - i)));
    if (roots != nullptr) roots->push_back(root);
  }
  return watch.seconds();
}

void Tree::build(const std::vector<Record>& records) {
  root = index->build(nodes, in_order(records.data(), records.size()));
}

std::vector<NamedIndex> all_indexes() {
  using siri::Structure;
  return {{"POS-Tree", {}},
          {"POS-Tree, byte window", {.boundary = siri::Boundary::byte_window}},
          {"MPT", {.structure = Structure::patricia_trie}},
          {"MBT", {.structure = Structure::bucket_tree}},
          {"MVMB+-Tree", {.structure = Structure::mvmb_tree}}};
}

}  // namespace bench::merkle
