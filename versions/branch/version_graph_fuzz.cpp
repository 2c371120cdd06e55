// Any rows are taken as a version graph. Each question about it is refused, as damaged data and unknown commits are, or answered,
// and ends.
//
// The input is two commits (8 bytes each), the rows of `commits` and of `ids` (a part each), and the rows of `branches`
// (storage/testing/fuzz_table.h).
#include "versions/branch/version_graph.h"

#include "storage/testing/fuzz_table.h"

namespace {

using namespace versions;
using base::check;

constexpr uint32_t database = 1;

storage::FuzzTable& branches() {
  static storage::FuzzTable one("versions-db1-branches");
  return one;
}

struct Tables {
  const Table commits{"versions-db1-commits"}, ids{"versions-db1-ids"};
};

bool read_names(const VersionGraph& graph, Transaction& transaction) {
  const bool has_branches = !base::refuses([&] {
    for (const Branch& one : graph.branches(transaction)) {
      const auto same = graph.branch(transaction, one.name);
      check(same && same->id == one.id && same->head == one.head && same->segment == one.segment, "a branch has one row");
    }
  });
  const bool has_tags = !base::refuses([&] {
    for (const auto& [name, commit] : graph.tags(transaction)) check(graph.tag(transaction, name) == commit, "a tag has one row");
  });
  const bool has_rest = !base::refuses([&] {
    graph.before_unique(transaction);
    graph.policy(transaction);
    graph.validators(transaction);
    graph.proof_of_first(transaction);
  });
  return has_branches && has_tags && has_rest;
}

bool read_commits(const VersionGraph& graph, Transaction& transaction, CommitNumber a, CommitNumber b) {
  const bool has_first = !base::refuses([&] { graph.first(transaction); });
  const bool has_all = !base::refuses([&] {
    const auto counts = graph.counts(transaction);
    const Graph all = graph.graph(transaction);
    check(all.size() == counts.commits + counts.dropped + counts.absent, "each commit is counted");
    graph.roots(transaction);
    graph.boundaries(transaction, true);
  });
  for (const CommitNumber one : {a, b}) {
    base::refuses([&] {
      const Commit commit = graph.stored(transaction, one);
      graph.made_root(transaction, 7, one);
      graph.statement(transaction, commit);
      graph.find(transaction, base::to_hex(view(commit.id)));
      graph.find(transaction, commit.id);
      graph.check_there(transaction, one);
    });
    base::refuses([&] {
      size_t met = 0;
      for (Log log(graph, transaction, one); log.next();) ++met;
      const auto counts = graph.counts(transaction);
      check(met <= counts.commits + counts.dropped + counts.absent, "the log has each commit once");
    });
  }
  base::refuses([&] { graph.common_ancestor(transaction, a, b); });
  base::refuses([&] { graph.merge_base(transaction, a, b); });
  return has_first && has_all;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const CommitNumber a = reader.number(), b = reader.number();
  const BytesView commits = reader.part(), ids = reader.part();
  const VersionGraph graph(branches().engine(), database);  // anew, for it remembers commits
  return branches().with_rows(reader.rest(), [&](Transaction& transaction) {
    const Tables tables;
    storage::FuzzTable::put_rows(transaction, tables.commits, commits);
    storage::FuzzTable::put_rows(transaction, tables.ids, ids);
    const bool names = read_names(graph, transaction), all = read_commits(graph, transaction, a, b);
    return names && all;
  });
}

// A graph of two branches that were merged; `shallow`: a parent is absent.
Bytes seed(bool shallow) {
  VersionGraph graph(branches().engine(), database);
  Bytes commits, ids;
  CommitNumber last = 0, fork = 0;
  const Bytes rest = branches().rows_of([&](Transaction& transaction) {
    const auto put = [&](std::vector<CommitNumber> parents, int64_t time) {
      Commit commit{.number = graph.new_commit_number(), .parents = std::move(parents), .time_ms = time, .metadata = "metadata"};
      commit.collections.push_back(
          {.collection = 7, .label = Bytes(16, 'u'), .state = commit.number, .digest = merkle::sha256("root")});
      commit.grafted = shallow;
      graph.put_commit(transaction, commit);
      return commit.number;
    };
    const auto root = shallow ? graph.find_or_put_absent(transaction, merkle::sha256("absent")) : put({}, 1);
    const CommitNumber one = put({root}, 2), other = put({root}, 3);
    fork = one;
    last = put({one, other}, 4);
    if (shallow) graph.put_first(transaction, root);
    graph.put_branch(transaction, {.name = "main", .id = graph.new_branch_id(transaction), .head = last, .segment = 1});
    graph.put_branch(transaction, {.name = "dev", .id = graph.new_branch_id(transaction), .head = other, .segment = 2});
    graph.put_tag(transaction, "v1", one);
    graph.put_made_root(transaction, 7, one, {.root = merkle::sha256("made"), .reached = "key"});
    graph.put_policy(transaction, {.newest = 3, .age_ms = 1000});
    graph.put_validators(transaction, "validators");
    graph.put_before_unique(transaction);
    const Tables tables;
    commits = storage::FuzzTable::rows_in(transaction, tables.commits);
    ids = storage::FuzzTable::rows_in(transaction, tables.ids);
  });
  return base::FuzzWriter().number(last).number(fork).part(commits).part(ids).rest(rest);
}

std::vector<Bytes> seeds() {
  return {seed(false), seed(true)};
}

const base::FuzzTarget target("version_graph", run, seeds);

}  // namespace
