#include "versions/branch/merge.h"

#include "base/varint.h"
#include "versions/branch/scans.h"

namespace versions {

Hash hash_of(const Sides& sides) {
  Bytes all;
  for (const auto& side : {sides.base, sides.ours, sides.theirs}) {
    base::append_varint(all, side ? side->size() + 1 : 0);
    if (side) all.append(*side);
  }
  return sha256(all);
}

namespace {

// The records of one document that two sides touched; 0: that side has none.
struct Touched {
  RecordId base = 0, ours = 0, theirs = 0;
};

class Planner {
 public:
  Planner(Transaction& transaction, BranchStore& store, const CollectionTerms& terms)
      : transaction_(transaction), store_(store), terms_(terms) {}

  MergePlan plan(const View& base, const View& ours, const View& theirs) {
    Difference mine = store_.diff(transaction_, base, ours), other = store_.diff(transaction_, base, theirs);
    for (const Difference& side : {std::cref(mine), std::cref(other)})
      plan_.changed_records += side.only_a.count() + side.only_b.count();
    find_decided(base, ours, theirs);
    RecordSet gone_from_both = mine.only_a;
    gone_from_both &= other.only_a;

    std::unordered_map<Bytes, Touched> touched;
    each(gone_from_both, [&](RecordId record, BytesView content) { touched[key_of(content)].base = record; });
    std::unordered_map<Bytes, RecordId> new_here;
    each(mine.only_b, [&](RecordId record, BytesView content) {
      plan_.changed_bytes += content.size();
      new_here.emplace(key_of(content), record);
    });
    each(other.only_b, [&](RecordId record, BytesView content) {
      plan_.changed_bytes += content.size();
      Bytes key = key_of(content);
      if (decided_.contains(key)) return;
      const auto here = new_here.find(key);
      const auto before = touched.find(key);
      if (here == new_here.end() && before == touched.end()) {
        plan_.adoption.adopted.emplace_back(std::move(key), record);
      } else {
        touched[std::move(key)].theirs = record;
      }
    });
    for (auto& [key, records] : touched) {
      if (const auto here = new_here.find(key); here != new_here.end()) records.ours = here->second;
    }
    plan_.adoption.removed = std::move(other.only_a);
    plan_.adoption.removed -= mine.only_a;
    plan_.adoption.removed -= store_.purged_records(transaction_);  // no document goes with these records
    if (!store_.same_line(transaction_, base.state, theirs.state)) drop_holes(plan_.adoption.removed);
    for (const auto& [key, records] : touched) {
      if (!decided_.contains(key)) decide(key, records);
    }
    for (const auto& [key, records] : decided_) take(key, records, terms_.decided.at(key));
    for (auto& [key, record] : new_here) plan_.ours.insert(key);
    return std::move(plan_);
  }

 private:
  // The first state of a line names ids whose documents were gone already; later states go on naming them.
  void drop_holes(RecordSet& removed) {
    RecordSet documents;
    const auto scan = store_.scan_set(transaction_, std::move(removed));
    while (scan->next()) {
      if (terms_.interrupted) terms_.interrupted();
      documents.add(scan->record());
    }
    removed = std::move(documents);
  }

  // Leaves out what was purged: it stands in no document's way.
  template <class Each>
  void each(const RecordSet& set, Each&& each) {
    const auto scan = store_.scan_set(transaction_, set);
    while (scan->next()) {
      if (terms_.interrupted) terms_.interrupted();
      each(scan->record(), scan->content());
    }
  }

  std::optional<Bytes> content(RecordId record) { return record == 0 ? std::nullopt : store_.content(transaction_, record); }

  // Finds the documents whose decisions still hold.
  void find_decided(const View& base, const View& ours, const View& theirs) {
    for (const auto& [key, decision] : terms_.decided) {
      const Touched records{store_.find(transaction_, base, key), store_.find(transaction_, ours, key),
                            store_.find(transaction_, theirs, key)};
      const auto before = content(records.base), mine = content(records.ours), other = content(records.theirs);
      if (hash_of({as_view(before), as_view(mine), as_view(other)}) == decision.sides) decided_.emplace(key, records);
    }
  }

  void take(const Bytes& key, const Touched& records, const Decision& decision) {
    ++plan_.touched_by_both;
    const auto base = content(records.base), ours = content(records.ours), theirs = content(records.theirs);
    // If theirs alone changed the document, the plan removed our record like those of all such documents.
    if (records.base == records.ours) plan_.adoption.removed.remove(records.base);
    settle(key, records, ours, theirs, taken(decision, base, ours, theirs));
  }

  static std::optional<Bytes> taken(const Decision& decision, const std::optional<Bytes>& base, const std::optional<Bytes>& ours,
                                    const std::optional<Bytes>& theirs) {
    switch (decision.take) {
      case Decision::Take::ours: return ours;
      case Decision::Take::theirs: return theirs;
      case Decision::Take::base: return base;
      case Decision::Take::document: break;
    }
    return decision.document;
  }

  void decide(const Bytes& key, const Touched& records) {
    ++plan_.touched_by_both;
    if (terms_.interrupted) terms_.interrupted();
    const auto base = content(records.base), ours = content(records.ours), theirs = content(records.theirs);
    std::optional<Bytes> result = ours;
    if (records.ours != records.theirs) {
      Resolution resolution = terms_.resolve({as_view(base), as_view(ours), as_view(theirs), &terms_.interrupted});
      // The additions of both sides together may be more than a document holds.
      if (resolution.kind == Resolution::Kind::written && resolution.document.size() > bson::document_bytes_max)
        resolution = {Resolution::Kind::conflict};
      if (resolution.kind == Resolution::Kind::conflict) {
        plan_.conflicts.push_back({key, records.base, records.ours, records.theirs, std::move(resolution.paths)});
        return;
      }
      if (resolution.kind == Resolution::Kind::theirs) result = theirs;
      if (resolution.kind == Resolution::Kind::written) result = resolution.document;
    }
    settle(key, records, ours, theirs, result);
  }

  void settle(const Bytes& key, const Touched& records, const std::optional<Bytes>& ours, const std::optional<Bytes>& theirs,
              const std::optional<Bytes>& result) {
    put(key, records, ours, theirs, result);
    plan_.ours.insert(key);
    if (result != ours) plan_.settled.push_back({key, result ? std::optional(sha256(*result)) : std::nullopt});
  }

  void put(const Bytes& key, const Touched& records, const std::optional<Bytes>& ours, const std::optional<Bytes>& theirs,
           const std::optional<Bytes>& result) {
    if (result == ours) return;
    if (records.ours != 0) plan_.adoption.removed.add(records.ours);
    if (!result) return;
    if (result == theirs) {
      plan_.adoption.adopted.emplace_back(key, records.theirs);
    } else {
      plan_.adoption.written.emplace_back(key, *result);
    }
  }

  static std::optional<BytesView> as_view(const std::optional<Bytes>& bytes) {
    return bytes ? std::optional<BytesView>(*bytes) : std::nullopt;
  }

  Transaction& transaction_;
  BranchStore& store_;
  const CollectionTerms& terms_;
  std::unordered_map<Bytes, Touched> decided_;
  MergePlan plan_;
};

}  // namespace

MergePlan plan_merge(Transaction& transaction, BranchStore& store, const View& base, const View& ours, const View& theirs,
                     const CollectionTerms& terms) {
  return Planner(transaction, store, terms).plan(base, ours, theirs);
}

}  // namespace versions
