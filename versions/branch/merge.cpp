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

size_t bytes_of(const std::vector<std::string>& paths) {
  size_t bytes = paths.size() * kept_place_bytes;
  for (const std::string& path : paths) bytes += path.size();
  return bytes;
}

size_t MergePlan::Conflict::bytes() const {
  return 2 * sizeof(*this) + key.size() + bytes_of(paths);
}

namespace {

// The records of one document that two sides touched; 0: that side has none.
struct Touched {
  RecordId base = 0, ours = 0, theirs = 0;
};

class Planner {
 public:
  Planner(Transaction& transaction, BranchStore& store, const CollectionTerms& terms)
      : transaction_(transaction), store_(store), terms_(terms), kept_(terms.hold) {
    plan_.kept = KeptBytes(terms.hold);
    plan_.kept_conflicts = KeptBytes(terms.hold);
  }

  MergePlan plan(const View& base, const View& ours, const View& theirs) {
    Difference mine = store_.diff(transaction_, base, ours), other = store_.diff(transaction_, base, theirs);
    for (const Difference& side : {std::cref(mine), std::cref(other)}) {
      plan_.changed_records += side.only_a.count() + side.only_b.count();
      kept_.add(side.only_a.bytes() + side.only_b.bytes());
    }
    find_decided(base, ours, theirs);
    RecordSet gone_from_both = mine.only_a;
    gone_from_both &= other.only_a;

    std::unordered_map<Bytes, Touched> touched;
    const auto touch = [&](Bytes key) -> Touched& {
      const size_t bytes = kept_node_bytes + key.size();
      const auto [at, is_new] = touched.try_emplace(std::move(key));
      if (is_new) kept_.add(bytes);
      return at->second;
    };
    each(gone_from_both, [&](RecordId record, BytesView content) { touch(key_of(content)).base = record; });
    std::unordered_map<Bytes, RecordId> new_here;
    each(mine.only_b, [&](RecordId record, BytesView content) {
      plan_.changed_bytes += content.size();
      Bytes key = key_of(content);
      plan_.kept.add(kept_node_bytes + key.size());
      new_here.emplace(std::move(key), record);
    });
    each(other.only_b, [&](RecordId record, BytesView content) {
      plan_.changed_bytes += content.size();
      Bytes key = key_of(content);
      if (decided_.contains(key)) return;
      const auto here = new_here.find(key);
      const auto before = touched.find(key);
      if (here == new_here.end() && before == touched.end()) {
        adopt(std::move(key), record);
      } else {
        touch(std::move(key)).theirs = record;
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
    for (const auto& [key, records] : decided_) take(key, records, terms_.decided->at(key));
    // The keys are moved, since both sides may have changed many documents.
    while (!new_here.empty()) plan_.ours.insert(std::move(new_here.extract(new_here.begin()).key()));
    return std::move(plan_);
  }

 private:
  // The first state of a line names ids whose documents were gone already; later states go on naming them.
  void drop_holes(RecordSet& removed) {
    RecordSet documents;
    const auto scan = store_.scan_set(transaction_, std::move(removed));
    while (scan->next()) {
      look();
      documents.add(scan->record());
    }
    removed = std::move(documents);
  }

  // Leaves out what was purged: it stands in no document's way.
  template <class Each>
  void each(const RecordSet& set, Each&& each) {
    const auto scan = store_.scan_set(transaction_, set);
    while (scan->next()) {
      look();
      each(scan->record(), scan->content());
    }
  }

  void look() const {
    if (terms_.interrupted) terms_.interrupted();
  }

  std::optional<Bytes> content(RecordId record) { return record == 0 ? std::nullopt : store_.content(transaction_, record); }

  // Finds the documents whose decisions still hold.
  void find_decided(const View& base, const View& ours, const View& theirs) {
    if (!terms_.decided) return;
    for (const auto& [key, decision] : *terms_.decided) {
      look();
      const Touched records{store_.find(transaction_, base, key), store_.find(transaction_, ours, key),
                            store_.find(transaction_, theirs, key)};
      const auto before = content(records.base), mine = content(records.ours), other = content(records.theirs);
      if (hash_of({as_view(before), as_view(mine), as_view(other)}) != decision.sides) continue;
      kept_.add(kept_node_bytes + key.size());
      decided_.emplace(key, records);
    }
  }

  void take(const Bytes& key, const Touched& records, const Decision& decision) {
    ++plan_.touched_by_both;
    look();
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
    look();
    const auto base = content(records.base), ours = content(records.ours), theirs = content(records.theirs);
    std::optional<Bytes> result = ours;
    if (records.ours != records.theirs) {
      Resolution resolution = terms_.resolve({as_view(base), as_view(ours), as_view(theirs), &terms_.interrupted, &terms_.hold});
      // The additions of both sides together may be more than a document holds.
      if (resolution.kind == Resolution::Kind::written && resolution.document.size() > bson::document_bytes_max)
        resolution = {Resolution::Kind::conflict};
      if (resolution.kind == Resolution::Kind::conflict) {
        MergePlan::Conflict conflict{key, records.base, records.ours, records.theirs, std::move(resolution.paths)};
        plan_.kept_conflicts.add(conflict.bytes());
        plan_.conflicts.push_back(std::move(conflict));
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
    plan_.kept.add(kept_node_bytes + key.size());
    plan_.ours.insert(key);
    if (result == ours) return;
    plan_.kept.add(2 * kept_place_bytes + key.size());
    plan_.settled.push_back({key, result ? std::optional(sha256(*result)) : std::nullopt});
  }

  void put(const Bytes& key, const Touched& records, const std::optional<Bytes>& ours, const std::optional<Bytes>& theirs,
           const std::optional<Bytes>& result) {
    if (result == ours) return;
    if (records.ours != 0) plan_.adoption.removed.add(records.ours);
    if (!result) return;
    if (result == theirs) {
      adopt(key, records.theirs);
    } else {
      plan_.kept.add(2 * kept_place_bytes + key.size() + result->size());
      plan_.adoption.written.emplace_back(key, *result);
    }
  }

  void adopt(Bytes key, RecordId record) {
    plan_.kept.add(kept_place_bytes + key.size());
    plan_.adoption.adopted.emplace_back(std::move(key), record);
  }

  static std::optional<BytesView> as_view(const std::optional<Bytes>& bytes) {
    return bytes ? std::optional<BytesView>(*bytes) : std::nullopt;
  }

  Transaction& transaction_;
  BranchStore& store_;
  const CollectionTerms& terms_;
  KeptBytes kept_;  // what the planner alone takes
  std::unordered_map<Bytes, Touched> decided_;
  MergePlan plan_;
};

}  // namespace

MergePlan plan_merge(Transaction& transaction, BranchStore& store, const View& base, const View& ours, const View& theirs,
                     const CollectionTerms& terms) {
  return Planner(transaction, store, terms).plan(base, ours, theirs);
}

}  // namespace versions
