#include "bench/data/workload.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unordered_map>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/problems.h"
#include "datasets/source.h"
#include "datasets/synthetic/generator.h"
#include "datasets/synthetic/profile.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

struct Place {
  const char* name;
  const char* folder;     // of the real data
  const char* synthetic;  // its profile
};
constexpr Place places[] = {
    {"wiki", "wiki", "wikipedia"},
    {"mail", "enron", "enron"},
    {"stackexchange", "stackexchange", "stackexchange"},
    {"boards", "boards", "boards"},
    {"versions", "versions", "wikipedia"},
};

const Place& place_of(const std::string& name) {
  for (const Place& place : places) {
    if (name == place.name) return place;
  }
  throw std::runtime_error("no workload is called " + name);
}

// Each state of a keyed record becomes a record of its own: the key moves aside for a unique _id.
bson::Document renamed(bson::DocumentView document, int64_t id) {
  bson::Builder out;
  out.append("_id", id);
  for (const bson::Element& field : document) {
    if (field.name == "_id")
      out.append("key", static_cast<bson::ValueView>(field));
    else
      out.append_element(field);
  }
  return out.done();
}

void take_all(datasets::Loader& loader, bool versions, Workload& workload) {
  while (auto item = loader.next()) {
    if (item->op == datasets::Item::Op::remove || (versions && item->collection == "commits")) continue;
    const auto id = static_cast<int64_t>(workload.records.size()) + 1;
    bson::Document document = versions ? renamed(item->document, id) : std::move(item->document);
    auto known = std::find(workload.collections.begin(), workload.collections.end(), item->collection);
    if (known == workload.collections.end()) known = workload.collections.insert(known, item->collection);
    const auto collection = static_cast<uint32_t>(known - workload.collections.begin());
    workload.records.push_back({Bytes(document.bytes()), collection, item->group, item->timestamp_ms, item->views});
  }
}

Workload synthetic(const Place& place, const WorkloadOptions& options) {
  Workload workload{place.name, std::string("synthetic:") + place.synthetic, false, {}, {}};
  datasets::Profile profile = *datasets::find_profile(place.synthetic);
  if (workload.name == "versions") profile.versions = 50;
  const auto records = static_cast<uint64_t>(static_cast<double>(options.synthetic_bytes) / (profile.record_bytes + 150)) + 1;
  datasets::SyntheticLoader loader(profile, records, options.seed);
  take_all(loader, false, workload);
  return workload;
}

}  // namespace

uint64_t Workload::bytes() const {
  return std::accumulate(records.begin(), records.end(), uint64_t{0},
                         [](uint64_t sum, const Record& record) { return sum + record.document.size(); });
}

Workload Workload::by_time() const {
  Workload sorted = *this;
  std::stable_sort(sorted.records.begin(), sorted.records.end(),
                   [](const Record& a, const Record& b) { return a.timestamp_ms < b.timestamp_ms; });
  return sorted;
}

Workload Workload::sample(uint64_t bytes_max) const {
  if (bytes() <= bytes_max) return *this;
  std::unordered_map<uint64_t, uint64_t> group_bytes;
  for (const Record& record : records) group_bytes[record.group] += record.document.size();
  std::vector<std::pair<uint64_t, uint64_t>> order;  // hash of the group, group
  for (const auto& [group, size] : group_bytes)
    order.emplace_back(base::hash64({reinterpret_cast<const char*>(&group), sizeof group}, 7), group);
  std::sort(order.begin(), order.end());
  std::unordered_map<uint64_t, bool> taken;
  uint64_t left = bytes_max;
  for (const auto& [hash, group] : order) {
    const uint64_t size = group_bytes[group];
    if (size > left) continue;
    left -= size;
    taken[group] = true;
  }
  Workload some{name, source, real, collections, {}};
  for (const Record& record : records) {
    if (taken.contains(record.group)) some.records.push_back(record);
  }
  return some;
}

Workload Workload::histories(size_t records_min) const {
  std::unordered_map<uint64_t, size_t> counts;
  for (const Record& record : records) ++counts[record.group];
  Workload some{name, source, real, collections, {}};
  for (const Record& record : records) {
    if (counts[record.group] >= records_min) some.records.push_back(record);
  }
  return some;
}

std::optional<std::string> find_data() {
  std::error_code ignored;
  for (fs::path from : {fs::current_path(ignored), fs::read_symlink("/proc/self/exe", ignored).parent_path()}) {
    for (; !from.empty(); from = from.parent_path()) {
      if (fs::is_directory(from / "shared/datasets", ignored)) return (from / "shared/datasets").string();
      if (from == from.root_path()) break;
    }
  }
  return std::nullopt;
}

Workload load(const std::string& name, const WorkloadOptions& options) {
  const Place& place = place_of(name);
  const std::string path = options.data ? *options.data + "/" + place.folder : "";
  if (!options.data || !fs::exists(path)) return synthetic(place, options);
  datasets::Problems problems(datasets::Problems::Policy::skip);
  datasets::SourceOptions source;
  source.source = path;
  datasets::Source loader(source, problems);
  Workload workload{name, path, true, {}, {}};
  take_all(loader, name == "versions", workload);
  return workload;
}

Workload load_history(const std::string& repository) {
  datasets::Problems problems(datasets::Problems::Policy::skip);
  datasets::SourceOptions source;
  source.source = repository;
  source.kind = datasets::Kind::git;
  datasets::Source loader(source, problems);
  Workload workload{"history of " + fs::path(repository).filename().string(), repository, true, {}, {}};
  take_all(loader, false, workload);
  return workload;
}

}  // namespace bench
