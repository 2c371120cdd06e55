// The input is taken as rows of the version graph: a branch's, a commit's, an entry of a segment, and the fields that say which
// hash tree a collection has. Each is refused as damaged data is, or written back as one that reads the same.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "versions/branch/graph_rows.h"
#include "versions/branch/segment_walk.h"
#include "versions/branch/tree_kind.h"

namespace {

using namespace versions;

bool check_branch(BytesView row) {
  Branch branch;
  if (base::refuses([&] { branch = read_branch("name", row); })) return false;
  const Branch again = read_branch("name", write_branch(branch));
  base::check(again.id == branch.id && again.head == branch.head && again.segment == branch.segment);
  return true;
}

bool check_commit(BytesView row, CommitNumber number) {
  Commit commit;
  if (base::refuses([&] { commit = read_commit(number, row); })) return false;
  const Bytes once = write_commit(commit);
  base::check(write_commit(read_commit(number, once)) == once);
  return true;
}

bool check_entry(BytesView row) {
  Entry entry;
  if (base::refuses([&] { entry = read_entry(row); })) return false;
  const Entry again = read_entry(write_entry(entry));
  base::check(again.adopted == entry.adopted && again.key == entry.key);
  return true;
}

bool check_tree_kind(BytesView input) {
  const auto document = bson::validate(input);
  TreeKind kind;
  if (!document.ok() || base::refuses([&] { kind = read_tree_kind(document.value()); })) return false;
  bson::Builder out;
  append(out, kind);
  base::check(read_tree_kind(out.done().view()) == kind);
  return true;
}

//   number: the commit's | rest: the row
bool run(BytesView input) {
  base::FuzzReader reader(input);
  const CommitNumber number = reader.number();
  const BytesView row = reader.rest();
  const bool branch = check_branch(row), commit = check_commit(row, number), entry = check_entry(row),
             tree = check_tree_kind(row);
  return branch || commit || entry || tree;
}

std::vector<Bytes> seeds() {
  const auto seed = [](const Bytes& row) { return base::FuzzWriter().number(20).rest(row); };
  Commit commit{.number = 20, .parents = {19, 7}, .time_ms = 1'700'000'000'000, .metadata = "metadata"};
  commit.collections.push_back({.collection = 3, .label = Bytes(16, 'u'), .state = 18, .digest = merkle::sha256("root")});
  Commit grafted = commit;
  grafted.parents = {30, 7};
  return {seed(write_commit(commit)),
          seed(write_commit(grafted)),
          seed(write_commit({.id = commit.id, .number = 20, .dropped = true, .absent = true})),
          seed(write_branch({.name = "dev", .id = BranchId{3}, .head = 20, .segment = first_segment})),
          seed(write_entry({.adopted = 300, .key = "key"})),
          seed(bson::json("{tree: 'bucketTree', buckets: 100}").bytes())};
}

const base::FuzzTarget target("graph_rows", run, seeds);

}  // namespace
