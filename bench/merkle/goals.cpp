#include <fmt/core.h>

#include <algorithm>
#include <iostream>

#include "bench/measure/cpu_clock.h"
#include "bench/merkle/figures.h"
#include "bench/merkle/hash_floor.h"
#include "bench/merkle/sharing.h"
#include "versions/merkle/merge.h"
#include "versions/merkle/proof.h"

namespace bench::merkle {
namespace {

// Returns new values of so many random records below a bound.
std::vector<Record> rewritten(base::Random& random, uint64_t below, size_t count, uint64_t version) {
  std::vector<Record> all;
  for (size_t i = 0; i < count; ++i) all.push_back(record(random.below(below), version));
  return all;
}

struct Speeds {
  double load = 0, update = 0, lookup = 0, single_us = 0;
};

Speeds measure(const Settings& settings, const siri::IndexOptions& options, Tree& tree, base::Random& random) {
  std::vector<double> load, update, lookup;
  std::vector<Record> all = records(0, settings.records);
  shuffle(all, random);
  for (int round = 0; round < settings.rounds; ++round) {
    Tree fresh(options);
    load.push_back(static_cast<double>(all.size()) / fresh.put(all, 4'000));
  }
  tree.put(all, 4'000);
  for (int round = 0; round < settings.rounds; ++round) {
    const auto changes =
        rewritten(random, settings.records, std::min<uint64_t>(40'000, settings.records), static_cast<uint64_t>(round) + 1);
    update.push_back(static_cast<double>(changes.size()) / tree.put(changes, 4'000));
  }
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<Bytes> wanted;  // the keys lie in a row, because a caller that looks one up has it at hand
    for (size_t i = 0; i < 200'000; ++i) wanted.push_back(all[random.below(all.size())].key);
    size_t found = 0;
    const CpuWatch watch;
    for (const Bytes& key : wanted) found += tree.index->find(tree.nodes, tree.root, key)->value.size();
    lookup.push_back(static_cast<double>(wanted.size()) / watch.seconds());
    base::check(found == wanted.size() * 256, "all records are found");
  }
  const auto changes = rewritten(random, settings.records, std::min<size_t>(settings.operations, 5'000), 99);
  const double single = median_cpu_seconds(
      changes.size(), [&](size_t i) { tree.root = tree.index->put(tree.nodes, tree.root, changes[i].key, changes[i].value); });
  return {median(load), median(update), median(lookup), single * 1e6};
}

// Makes two sides that each changed so many records.
struct Sides {
  siri::Hash ours, theirs;
};
Sides change_both(Tree& tree, base::Random& random, uint64_t records, size_t changes) {
  const siri::Hash base = tree.root;
  tree.put(rewritten(random, records, changes, 1'000), changes);
  const siri::Hash ours = std::exchange(tree.root, base);
  tree.put(rewritten(random, records, changes, 1'001), changes);
  return {ours, std::exchange(tree.root, base)};
}

}  // namespace

void run_goals(const Settings& settings, Report& report) {
  Figure figure{"G", "The structures side by side, one thread", {}, {}, {}, {}};
  const size_t changed = std::min<size_t>(1'600, settings.records / 10);
  Table speeds{fmt::format("{} records of 256 B, per CPU second", settings.records),
               {"", "load", "batch update", "look-up", "single update, µs", fmt::format("difference of {}, ms", changed),
                fmt::format("merge of {}, ms", changed), "proof, B", "checked in, µs"},
               {}};
  Table hashing{"what of the load is hashing: the same bytes again, with nothing around it",
                {"", "B a record", "messages a record", "hashing, µs a record", "load, µs a record", "share"},
                {}};
  for (const auto& [name, options] : all_indexes()) {
    std::cerr << "goals: " << name << "\n";
    base::Random random(7);
    Tree tree(options);
    const Speeds speed = measure(settings, options, tree, random);
    const Sides sides = change_both(tree, random, settings.records, changed);
    const double diff_ms = 1e3 * median_cpu_seconds(5, [&](size_t) {
                             size_t seen = 0;
                             tree.index->diff(tree.nodes, tree.root, sides.ours, [&](const siri::Difference& difference) {
                               return seen += difference.b->size(), true;
                             });
                             base::check(seen > 0, "differences are seen");
                           });
    const double merge_ms =
        1e3 * median_cpu_seconds(5, [&](size_t) {
          base::check(
              siri::merge(*tree.index, tree.nodes, tree.root, sides.ours, sides.theirs, siri::select_theirs).root.has_value(),
              "merged");
        });
    std::vector<double> bytes, check_us;
    for (size_t i = 0; i < 1'000; ++i) {
      // Every other proof is of a record that isn't there.
      const Bytes key = key_of(i % 2 == 0 ? random.below(settings.records) : settings.records * 2 + i);
      const Bytes proof = tree.index->prove(tree.nodes, tree.root, key);
      const CpuWatch watch;
      const auto answer = siri::verify(tree.root, key, proof);
      check_us.push_back(watch.seconds() * 1e6);
      base::check(answer.ok() && answer.value().has_value() == (i % 2 == 0), "the proof holds");
      bytes.push_back(static_cast<double>(proof.size()));
    }
    const double proof_bytes = median(bytes), proof_us = median(check_us), most = *std::max_element(bytes.begin(), bytes.end());
    speeds.rows.push_back({name, number_text(speed.load), number_text(speed.update), number_text(speed.lookup),
                           number_text(speed.single_us), number_text(diff_ms), number_text(merge_ms), number_text(proof_bytes),
                           number_text(proof_us)});
    std::vector<Record> loaded = records(0, settings.records);
    shuffle(loaded, random);
    const HashFloor floor = hash_floor(options, loaded, 4'000);
    const auto count = static_cast<double>(settings.records), load_us = 1e6 / speed.load, floor_us = floor.seconds * 1e6 / count;
    hashing.rows.push_back({name, number_text(static_cast<double>(floor.bytes) / count),
                            number_text(static_cast<double>(floor.messages) / count), number_text(floor_us), number_text(load_us),
                            number_text(floor_us / load_us)});
    if (name != "POS-Tree") continue;
    report.goals.push_back({"load", "records/s", speed.load, 180e3, false, "batches of 4,000 in random order, from empty"});
    report.goals.push_back({"batch update", "records/s", speed.update, 140e3, false, "batches of 4,000, random"});
    report.goals.push_back({"look-up", "records/s", speed.lookup, 800e3, false, "random"});
    report.goals.push_back({"single update", "µs", speed.single_us, 20, true, "median"});
    report.goals.push_back({fmt::format("difference of {} changes", changed), "ms", diff_ms, 5, true, "random records"});
    report.goals.push_back(
        {fmt::format("merge of {} changes on either side", changed), "ms", merge_ms, 25, true, "random records"});
    report.goals.push_back(
        {"proof", "B", most, 3072, true,
         fmt::format("the longest of 1,000, half of absence, with a value of 256 B; median {} B", number_text(proof_bytes))});
    report.goals.push_back({"proof checked in", "µs", proof_us, 10, true, "median"});
  }
  figure.tables.push_back(std::move(speeds));
  figure.tables.push_back(std::move(hashing));
  report.figures.push_back(std::move(figure));

  std::cerr << "goals: sharing\n";
  Collaboration how = scaled(settings.scale);
  const Sharing sharing = collaborate(how, {});
  const std::string what = fmt::format(
      "10 groups, {} records at first, {} more in batches of {}, half of them the same; all versions; {} MB in {} nodes",
      how.initial, how.workload, how.batch, number_text(static_cast<double>(sharing.stored_bytes()) / 1e6),
      sharing.stored_nodes());
  report.goals.push_back({"deduplication ratio", "", sharing.dedup_ratio(), 0.75, false, what + "; the paper has 0.6485"});
  report.goals.push_back({"node sharing ratio", "", sharing.node_ratio(), 0.80, false, what + "; the paper has 0.48"});
  how.overlap = 1;
  how.heads_only = true;
  const Sharing same = collaborate(how, {});
  report.goals.push_back(
      {"ten instances of the same records in ten orders", "", same.dedup_ratio(), 0.9, false,
       fmt::format("nodes: {}; {} MB in {} nodes, of {} MB in {}; exactly 0.900 is all there is to reach",
                   number_text(same.node_ratio()), number_text(static_cast<double>(same.stored_bytes()) / 1e6),
                   same.stored_nodes(), number_text(static_cast<double>(same.all_bytes()) / 1e6), same.all_nodes())});
}

}  // namespace bench::merkle
