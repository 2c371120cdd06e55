// Any rows are taken as merges that wait for decisions. They are refused, as damaged data is, or their parts are safe to use.
//
// The input is a branch, a collection (8 bytes each), and rows (storage/testing/fuzz_table.h).
#include "bson/json.h"
#include "bson/validate.h"
#include "storage/testing/fuzz_table.h"
#include "versions/database/open_merges.h"

namespace {

using namespace versions;

constexpr uint32_t database = 1;

storage::FuzzTable& rows() {
  static storage::FuzzTable one("versions-db1-merges");
  return one;
}
OpenMerges& merges() {
  static OpenMerges one(rows().engine(), database);
  return one;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const auto branch = static_cast<BranchId>(reader.number());
  const auto collection = static_cast<storage::CollectionId>(reader.number());
  merges();  // opens the table, which no transaction may do
  return rows().with_rows(reader.rest(), [&](Transaction& transaction) {
    std::optional<OpenMerge> merge;
    Decisions decisions;
    const bool found = !base::refuses([&] { merge = merges().find(transaction, branch); });
    const bool decided = !base::refuses([&] { decisions = merges().decisions(transaction, branch, collection); });
    const bool held = !base::refuses([&] { merges().held(transaction); });
    if (merge) base::check(bson::validate(merge->request.bytes()).ok(), "a merge's request is a document");
    for (const auto& [key, decision] : decisions)
      base::check(decision.document.empty() || bson::validate(decision.document).ok(), "a decision's document is one");
    merges().end(transaction, branch);
    return found && merge && decided && held;
  });
}

std::vector<Bytes> seeds() {
  const auto branch = static_cast<BranchId>(3);
  merges();
  const Bytes all = rows().rows_of([&](Transaction& transaction) {
    merges().begin(transaction, branch, {.from = 300, .request = bson::json("{mergeBranch: 'dev', into: 'main'}")});
    const Hash sides = merkle::sha256("sides");
    const Bytes document = bson::json("{_id: 1}").bytes();
    merges().decide(transaction, branch, 7, "key", {.take = Decision::Take::document, .document = document, .sides = sides});
    merges().decide(transaction, branch, 7, "other", {.take = Decision::Take::ours, .document = {}, .sides = sides});
  });
  const Bytes undecided = rows().rows_of([&](Transaction& transaction) {
    merges().begin(transaction, branch, {.from = UINT64_MAX, .request = bson::json("{}")});
    merges().begin(transaction, static_cast<BranchId>(4),
                   {.from = 1, .request = bson::json("{mergeBranch: 'main', into: 'dev'}")});
  });
  const Bytes removal = rows().rows_of([&](Transaction& transaction) {
    merges().begin(transaction, branch, {.from = 300, .request = bson::json("{mergeBranch: 'dev', into: 'main'}")});
    merges().decide(transaction, branch, 7, "key", {.take = Decision::Take::theirs, .document = {}, .sides = {}});
    merges().decide(transaction, branch, 8, Bytes(300, 'k'), {.take = Decision::Take::document, .document = {}, .sides = {}});
  });
  std::vector<Bytes> out;
  for (const Bytes& one : {all, undecided, removal}) out.push_back(base::FuzzWriter().number(3).number(7).rest(one));
  return out;
}

const base::FuzzTarget target("open_merges", run, seeds);

}  // namespace
