// This measures what the encoder finds and what it costs, on real data and without a server.
//
//   dedup_measure SOURCE [--profile P] [--order file|timestamp] [--every N] [--records N] [--lineage] [--demote]
//
// Each version of a document is a content of its own, in the order it was
// written. Its true predecessor is the version before it; how much longer the
// delta against the chosen source is than the one against the predecessor says
// how good detection is. Every n-th content is compared, all are encoded.
// Times are CPU times of this thread, without loading.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "base/cpu_time.h"
#include "base/hash.h"
#include "datasets/source.h"
#include "dedup/decoder.h"
#include "dedup/encoder.h"
#include "dedup/memory_pages.h"

namespace {

using namespace dedup;

struct Version {
  ContentId id;
  Bytes content;
  std::optional<ContentId> predecessor;
  uint64_t group = 0;
};

// Keeps contents as a server would keep them after it has followed all advice.
class Store : public RecordSource, public FormSource {
 public:
  void insert(const Version& version) {
    contents_[version.id] = &version.content;
    forms_[version.id] = {true, {}, {}, base::checksum32(version.content), static_cast<uint32_t>(version.content.size())};
  }
  void write_back(const Backward& backward) {
    StoredForm& form = forms_.at(backward.target);
    form.raw = false;
    form.bytes = backward.delta;
    form.base = backward.base;
  }
  std::optional<Bytes> fetch(const ContentId& id) override {
    const auto found = contents_.find(id);
    return found == contents_.end() ? std::nullopt : std::optional(*found->second);
  }
  base::Result<StoredForm> fetch_form(const ContentId& id) override {
    const auto found = forms_.find(id);
    if (found == forms_.end()) return base::Failure{base::ErrorCode::no_such_key, to_string(id)};
    StoredForm form = found->second;
    if (form.raw) form.bytes = *contents_.at(id);
    return form;
  }
  const Bytes& content(const ContentId& id) const { return *contents_.at(id); }
  const std::unordered_map<ContentId, StoredForm>& forms() const { return forms_; }

 private:
  std::unordered_map<ContentId, const Bytes*> contents_;
  std::unordered_map<ContentId, StoredForm> forms_;
};

struct Arguments {
  datasets::SourceOptions source;
  std::string profile = "balanced";
  std::string order = "timestamp";
  uint64_t every = 1;
  uint64_t records = UINT64_MAX;
  bool lineage = false;
  bool demote = false;
  std::vector<std::string> set;
};

std::vector<Version> load(const Arguments& arguments) {
  auto source = arguments.source;
  source.timestamp_order = arguments.order == "timestamp";
  datasets::Problems problems(datasets::Problems::Policy::skip);
  datasets::Source loader(source, problems);
  std::vector<Version> versions;
  std::map<std::string, uint32_t> collections;
  std::map<std::pair<uint32_t, uint64_t>, ContentId> newest;
  int64_t record = 0;
  while (versions.size() < arguments.records) {
    const auto item = loader.next();
    if (!item) break;
    if (item->op == datasets::Item::Op::remove) continue;
    const auto collection = collections.emplace(item->collection, collections.size() + 1).first->second;
    // Generations are timestamps as a server makes them: seconds and a count.
    const ContentId id{collection, ++record,
                       uint64_t{1'600'000'000 + static_cast<uint64_t>(record) / 5000} << 32 | record % 5000};
    Version version{id, Bytes(item->document.view().bytes()), {}, item->group};
    const auto before = newest.find({collection, item->group});
    if (before != newest.end()) version.predecessor = before->second;
    newest[{collection, item->group}] = id;
    versions.push_back(std::move(version));
  }
  return versions;
}

double per(uint64_t a, uint64_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

Options options_of(const Arguments& arguments);

int run(const Arguments& arguments) {
  const std::vector<Version> versions = load(arguments);
  uint64_t logical = 0;
  for (const auto& version : versions) logical += version.content.size();
  std::printf("contents %zu, %.1f MB, mean %.0f B\n", versions.size(), 1e-6 * static_cast<double>(logical),
              per(logical, versions.size()));

  const Options options = options_of(arguments);
  Store store;
  MemoryPages pages;
  Encoder encoder(options, 42, pages);
  std::unordered_map<ContentId, uint64_t> group_of;
  for (const auto& version : versions) group_of[version.id] = version.group;

  double seconds = 0;
  uint64_t compared = 0, exact = 0, same_group = 0, missed = 0, chosen_bytes = 0, true_bytes = 0, write_backs = 0;
  uint64_t versions_compared = 0, version_true_bytes = 0, version_chosen_bytes = 0;  // where it is a version of its predecessor
  uint64_t number = 0;
  for (const Version& version : versions) {
    const base::CpuWatch watch;
    Encoding encoding = encoder.encode(version.id, version.content, store, arguments.lineage ? version.group : no_lineage);
    seconds += watch.seconds();
    store.insert(version);
    for (const auto& backward : encoding.write_backs) store.write_back(backward);
    write_backs += encoding.write_backs.size();
    if (!version.predecessor || ++number % arguments.every != 0) continue;
    const auto truth = dedup::encode(store.content(*version.predecessor), version.content);
    const size_t truth_bytes = truth ? std::min(truth->size(), version.content.size()) : version.content.size();
    const size_t made_bytes = encoding.source ? encoding.forward.size() : version.content.size();
    if (truth_bytes * 2 <= version.content.size()) {
      ++versions_compared;
      version_true_bytes += truth_bytes;
      version_chosen_bytes += made_bytes;
    }
    ++compared;
    true_bytes += truth_bytes;
    chosen_bytes += made_bytes;
    missed += !encoding.source;
    if (!encoding.source) continue;
    exact += *encoding.source == *version.predecessor;
    same_group += group_of.at(*encoding.source) == group_of.at(version.id);
  }

  if (arguments.demote) {
    const base::CpuWatch watch;
    size_t asked = 0;
    for (size_t i = 0; i < versions.size() * 9 / 10; ++i) {
      const Version& version = versions[i];
      if (!store.forms().at(version.id).raw) continue;
      ++asked;
      if (const auto advice = encoder.demote(version.id, version.content, {version.id.record, 0}, store))
        store.write_back(*advice);
    }
    std::printf("demoted %lu of %zu heads, %.1f us each (CPU)\n", encoder.stats().demoted, asked,
                1e6 * watch.seconds() / static_cast<double>(std::max<size_t>(asked, 1)));
  }
  const auto stats = encoder.stats();
  std::printf("encoded %lu, unique %lu, filtered %lu, not worth %lu, disabled %lu; write-backs %lu (%lu of hop bases)\n",
              stats.encoded, stats.unique, stats.filtered, stats.not_worth, stats.disabled, write_backs, stats.hop_write_backs);
  std::printf(
      "detection, %lu compared: exact %.1f %%, same document %.1f %%, no source %.1f %%; delta %.0f B, against the "
      "predecessor's %.0f B: %.3fx\n",
      compared, 100 * per(exact, compared), 100 * per(same_group, compared), 100 * per(missed, compared),
      per(chosen_bytes, compared), per(true_bytes, compared), per(chosen_bytes, true_bytes));
  std::printf(
      "of these, %lu resemble their predecessor (delta at most half): delta %.0f B, against the predecessor's %.0f B: %.3fx\n",
      versions_compared, per(version_chosen_bytes, versions_compared), per(version_true_bytes, versions_compared),
      per(version_chosen_bytes, version_true_bytes));
  std::printf("pipeline: %.3f GB/s, %.1f us a content (CPU)\n", 1e-9 * static_cast<double>(logical) / seconds,
              1e6 * seconds / static_cast<double>(versions.size()));
  std::printf("sources: %lu candidates (%.2f a content), false %lu, cache hits %lu, fetched %lu, gone %lu\n", stats.candidates,
              per(stats.candidates, stats.contents), stats.false_matches, stats.source_hits, stats.source_fetches,
              stats.sources_gone);

  uint64_t raw = 0, raw_bytes = 0, delta_bytes = 0, hops = 0, hops_max = 0, old_raw = 0, old_raw_bytes = 0;
  std::map<std::pair<uint32_t, uint64_t>, ContentId> newest;
  for (const Version& version : versions) newest[{version.id.collection, version.group}] = version.id;
  const base::CpuWatch decode_watch;
  number = 0;
  for (const Version& version : versions) {
    const auto& form = store.forms().at(version.id);
    raw += form.raw;
    (form.raw ? raw_bytes : delta_bytes) += form.raw ? form.raw_bytes : form.bytes.size();
    if (form.raw && newest.at({version.id.collection, version.group}) != version.id) {
      ++old_raw;
      old_raw_bytes += form.raw_bytes;
    }
    if (++number % arguments.every != 0) continue;
    DecodeStats one;
    const auto content = decode(version.id, store, {.hops_max = 1 << 20}, &one);
    if (!content.ok() || content.value() != version.content)
      throw std::runtime_error(to_string(version.id) + " does not read back");
    hops += one.hops;
    hops_max = std::max<uint64_t>(hops_max, one.hops);
  }
  std::printf("stored: %.2f MB whole in %lu, %.2f MB of deltas; %.2fx; hops mean %.1f, max %lu; read %.1f us a content (CPU)\n",
              1e-6 * static_cast<double>(raw_bytes), raw, 1e-6 * static_cast<double>(delta_bytes),
              per(logical, raw_bytes + delta_bytes), per(hops * arguments.every, versions.size()), hops_max,
              1e6 * decode_watch.seconds() * static_cast<double>(arguments.every) / static_cast<double>(versions.size()));

  std::printf("whole although not the newest of its document: %lu, %.2f MB\n", old_raw,
              1e-6 * static_cast<double>(old_raw_bytes));

  encoder.flush();
  std::printf("index: %.2f B of live entries a record encoded, %.1f B allocated a findable one (%lu findable, %zu B)\n",
              per(stats.index_live_bytes, stats.contents), per(stats.index_bytes, stats.live_entries), stats.live_entries,
              stats.index_bytes);
  std::printf("metadata: %zu B on disk, %.2f B a record, %.1f B a findable one; %zu B in memory\n", pages.bytes(),
              per(pages.bytes(), stats.contents), per(pages.bytes(), stats.live_entries), stats.metadata_bytes);
  const base::CpuWatch rebuild_watch;
  Encoder again(options, 42, pages);
  again.rebuild();
  const double rebuilt = rebuild_watch.seconds();
  std::printf("rebuild: %.0f ms CPU for %lu findable, %.2f s for 200,000\n", 1e3 * rebuilt, again.stats().live_entries,
              rebuilt * 200'000 / static_cast<double>(std::max<uint64_t>(1, again.stats().live_entries)));
  return 0;
}

Options options_of(const Arguments& arguments) {
  Options options = Options::of(arguments.profile == "thesis"    ? Profile::thesis
                                : arguments.profile == "archive" ? Profile::archive
                                                                 : Profile::balanced);
  options.governor_window = 0;
  for (const auto& one : arguments.set) {
    const auto equals = one.find('=');
    const std::string name = one.substr(0, equals);
    const auto value = static_cast<uint32_t>(std::stoul(one.substr(equals + 1)));
    if (name == "features_max")
      options.features_max = value;
    else if (name == "matches_per_feature")
      options.matches_per_feature = value;
    else if (name == "index_bytes_per_record")
      options.index_bytes_per_record = value;
    else if (name == "cache_reward")
      options.cache_reward = value;
    else if (name == "head_reward")
      options.head_reward = value;
    else if (name == "sources_tried")
      options.sources_tried = value;
    else if (name == "worth_percent")
      options.worth_percent = value;
    else if (name == "hop_distance")
      options.hop_distance = value;
    else if (name == "content_bytes_min")
      options.content_bytes_min = value;
    else if (name == "chunk_bytes")
      options.chunk_bytes = value;
    else if (name == "source_cache_bytes")
      options.source_cache_bytes = value;
    else if (name == "encoding")
      options.encoding = static_cast<EncodingScheme>(value);
    else if (name == "index_bytes_max")
      options.index_bytes_max = value;
    else if (name == "demotion_worth_percent")
      options.demotion_worth_percent = value;
    else if (name == "demotion_depth_max")
      options.demotion_depth_max = value;
    else if (name == "size_filter_always")
      options.size_filter_always = value != 0;
    else
      throw CLI::ValidationError("--set", "no option " + name);
  }
  return validate(options).or_throw();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What the encoder finds and what it costs, on real data and without a server");
  Arguments arguments;
  app.add_option("source", arguments.source.source, "as for `palimpsest replay`")->required();
  app.add_option("--profile", arguments.profile)->check(CLI::IsMember({"balanced", "thesis", "archive"}));
  app.add_option("--order", arguments.order)->check(CLI::IsMember({"file", "timestamp"}));
  app.add_option("--every", arguments.every, "compare and read back one content in so many")->check(CLI::PositiveNumber);
  app.add_option("--records", arguments.records, "stop after so many contents");
  app.add_flag("--lineage", arguments.lineage, "tell the encoder whose version each content is");
  app.add_flag("--demote", arguments.demote, "in the end, demote every head but the last tenth");
  app.add_option("--set", arguments.set, "OPTION=VALUE, one of dedup/options.h");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dedup_measure: %s\n", error.what());
    return 1;
  }
}
