// Figure 13 shows which part of a bucket tree's look-up grows with its buckets.
#include <fmt/core.h>

#include <iostream>

#include "bench/measure/cpu_clock.h"
#include "bench/merkle/figures.h"
#include "versions/merkle/bucket_tree.h"

namespace bench::merkle {
namespace {

siri::NodePtr load_bucket(Tree& tree, const Bytes& key) {
  const siri::BucketRoot root = siri::bucket_root_of(*tree.nodes.get(tree.root));
  siri::BucketPath path(root, siri::bucket_of(key, root.buckets));
  siri::Hash hash = root.top;
  for (; const auto place = path.place(); path.down())
    hash = siri::read_hash(tree.nodes.get(hash)->bytes().data() + 1 + *place * sizeof(siri::Hash));
  return tree.nodes.get(hash);
}

}  // namespace

void run_breakdown(const Settings& settings, Report& report) {
  const siri::IndexOptions options{.structure = siri::Structure::bucket_tree};
  Figure figure{
      "13", fmt::format("What a look-up in a bucket tree of {} buckets consists of", options.buckets),
      {},   {},
      {},   {"each is the difference of two runs over the same keys; the paper scans a bucket, here it is searched by halves"}};
  Table table{"CPU time of a look-up, µs",
              {"records", "B a bucket", "the key's hash", "inner nodes and bucket", "search in the bucket", "whole"},
              {}};
  for (const uint64_t size : sizes(settings)) {
    std::cerr << "figure 13: " << size << "\n";
    Tree tree(options);
    tree.build(records(0, size));
    base::Random random(size);
    std::vector<Bytes> wanted;
    for (size_t i = 0; i < settings.operations; ++i) wanted.push_back(key_of(random.below(size)));
    size_t bucket_bytes = 0;
    uint64_t sum = 0;
    const auto us = [&](auto&& work) {
      return 1e6 / static_cast<double>(wanted.size()) * least_cpu_seconds(settings.rounds, [&] {
               for (const Bytes& key : wanted) sum += work(key);
             });
    };
    for (const Bytes& key : wanted) bucket_bytes += load_bucket(tree, key)->bytes().size();
    const double hash = us([&](const Bytes& key) { return siri::bucket_of(key, options.buckets); });
    const double load = us([&](const Bytes& key) { return load_bucket(tree, key)->size(); });
    const double whole = us([&](const Bytes& key) { return tree.index->find(tree.nodes, tree.root, key)->value.size(); });
    base::check(sum > 0, "something was found");
    table.rows.push_back({number_text(static_cast<double>(size)),
                          number_text(static_cast<double>(bucket_bytes) / static_cast<double>(wanted.size())), number_text(hash),
                          number_text(load - hash), number_text(whole - load), number_text(whole)});
  }
  figure.tables.push_back(std::move(table));
  report.figures.push_back(std::move(figure));
}

}  // namespace bench::merkle
