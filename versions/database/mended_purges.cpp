#include "versions/database/mended_purges.h"

#include <algorithm>
#include <set>

#include "base/guarded.h"

namespace versions {

namespace {

using base::guarded;

constexpr size_t documents_at_once = 4096;
constexpr size_t groups_met_max = 1000;  // this bounds the depth of the search for another record

using Commits = Bitmap;  // places in PurgeSearch::commits_

class PurgeSearch {
 public:
  PurgeSearch(Transaction& transaction, const PurgesToMend& mend)
      : transaction_(transaction), mend_(mend), store_(mend.shared.store), roots_(mend.branches.roots()) {}

  std::map<RecordId, Bytes> run() {
    read_commits();
    group_records();
    find_keys();
    match();
    if (find_more_keys()) match();
    return found();
  }

 private:
  struct OfCommit {
    State state;
    std::optional<Hash> root;  // the first commit has no tree
  };
  // A Group holds the records that have neither a content nor an entry, and that these commits name.
  struct Group {
    Commits named_by;
    RecordSet records;
    Commits in_trees = {};           // those of the commits that have a tree
    std::vector<size_t> items = {};  // places in `items_`; each of these has one of the records
  };
  // A Key notes which commits' trees name it.
  struct Key {
    Commits found;                    // they show a record that is known
    std::map<Hash, Commits> lacking;  // nobody knows their record; by the hashes of the contents
  };
  // An Item is a document with one content, which these commits' trees name though nobody knows its record.
  struct Item {
    const Bytes* key;
    Commits named_by;
    Commits others;  // their trees name the document too, with another content or with a record that is known
  };

  void ask() const {
    if (mend_.interrupted) mend_.interrupted();
  }

  // Commits without changes share state and tree.
  void read_commits() {
    std::set<std::pair<State, std::optional<Hash>>> seen;
    for (const auto& [number, node] : mend_.shared.graph.graph(transaction_)) {
      ask();
      if (node.dropped) continue;
      const auto commit = mend_.shared.graph.commit(transaction_, number);
      const CollectionState* const state = commit->state_of(mend_.shared.base.id());
      if (!state || state->state == 0) continue;
      const auto root = commit->root_of(*state);
      if (!seen.emplace(state->state, root).second) continue;
      if (!root) treeless_.add(static_cast<uint32_t>(commits_.size()));
      commits_.push_back({state->state, root});
    }
  }

  void group_records() {
    for (uint32_t i = 0; i < commits_.size(); ++i) {
      ask();
      RecordSet here = store_.diff(transaction_, View{}, View{.state = commits_[i].state}).only_b;
      here -= mend_.known;
      std::vector<Group> split;
      for (Group& group : groups_) {
        RecordSet both = group.records;
        both &= here;
        if (both.empty()) continue;
        here -= both;
        Group part{group.named_by, both};
        part.named_by.add(i);
        group.records -= both;
        split.push_back(std::move(part));
      }
      if (!here.empty()) split.push_back({Commits::bitmapOf(1, i), std::move(here)});
      std::erase_if(groups_, [](const Group& group) { return group.records.empty(); });
      std::move(split.begin(), split.end(), std::back_inserter(groups_));
    }
  }

  // A document of a group's record is in the trees of the group's commits, so that one of them has to be read.
  void find_keys() {
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) { return a.named_by.maximum() < b.named_by.maximum(); });
    for (const Group& group : groups_) {
      for (Commits left = group.named_by - treeless_; !left.isEmpty() && !left.intersect(read_); left -= treeless_)
        read_tree(left.maximum());
    }
  }

  // The state of a merge may go on naming a record that was purged before, whose key its tree doesn't name any more. The first
  // commit that names the record does so in its tree too.
  bool find_more_keys() {
    bool more = false;
    for (const Group& group : groups_) {
      if (group.records.count() == group.items.size()) continue;
      for (Commits left = group.named_by - treeless_; !left.isEmpty(); left -= treeless_) {
        const uint32_t first = left.minimum();
        if (read_.contains(first)) break;
        read_tree(first);
        more = true;
      }
    }
    return more;
  }

  void read_tree(uint32_t place) {
    const bool whole = guarded([&] {
      std::optional<Bytes> behind;
      for (bool more = true; more;) {
        const auto some = roots_.some(transaction_, *commits_[place].root, behind, documents_at_once);
        for (const DocumentHash& document : some) {
          ask();
          if (!keys_.contains(document.key) && !has(place, document.key)) follow(document.key);
        }
        more = some.size() == documents_at_once;
        if (more) behind = some.back().key;
      }
      return true;
    });
    (whole ? read_ : treeless_).add(place);
  }

  // Does anybody know the record that the commit shows under the key?
  bool has(uint32_t place, const Bytes& key) {
    const View view{.state = commits_[place].state};
    const auto found = guarded([&] { return std::optional(store_.find(transaction_, view, key)); });
    if (!found || *found != 0) return true;  // what is damaged wasn't purged
    const auto others = mend_.without_entry.find(key);
    return others != mend_.without_entry.end() && std::any_of(others->second.begin(), others->second.end(), [&](RecordId record) {
             return store_.shows(transaction_, view, record);
           });
  }

  void follow(const Bytes& key) {
    Key& noted = keys_[key];
    for (uint32_t i = 0; i < commits_.size(); ++i) {
      if (treeless_.contains(i)) continue;
      std::optional<Hash> hash;
      const bool read = guarded([&] {
        hash = roots_.find(transaction_, *commits_[i].root, key);
        return true;
      });
      if (!read)
        treeless_.add(i);
      else if (hash)
        (has(i, key) ? noted.found : noted.lacking[*hash]).add(i);
    }
  }

  // Gives each item a record that its commits name. Ids that had no record when the first branch was made look like records that
  // all commits name, so these groups come last.
  void match() {
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) { return a.named_by.cardinality() < b.named_by.cardinality(); });
    std::multimap<std::string, Group*> by_commits;
    for (Group& group : groups_) {
      group.items.clear();
      group.in_trees = group.named_by - treeless_;
      by_commits.emplace(name_of(group.in_trees), &group);
    }
    list_items();
    std::vector<size_t> left;
    for (size_t i = 0; i < items_.size(); ++i) {
      ask();
      const auto [first, last] = by_commits.equal_range(name_of(items_[i].named_by));
      if (std::none_of(first, last, [&](const auto& same) { return take_free(*same.second, i); })) left.push_back(i);
    }
    const auto take_all = [&](bool strict) {
      std::erase_if(left, [&](size_t item) {
        std::set<const Group*> met;
        return take(item, strict, met);
      });
    };
    std::erase_if(left, [&](size_t item) { return take_parts(item, true); });
    take_all(true);
    // The state of a merge may name two purged records of a document.
    take_all(false);
    std::erase_if(left, [&](size_t item) { return take_parts(item, false); });
  }

  void list_items() {
    items_.clear();
    for (const auto& [key, noted] : keys_) {
      Commits all = noted.found;
      for (const auto& [hash, commits] : noted.lacking) all |= commits;
      for (const auto& [hash, commits] : noted.lacking) {
        Commits named_by = commits - treeless_;
        if (!named_by.isEmpty()) items_.push_back({&key, std::move(named_by), all - commits});
      }
    }
  }

  static std::string name_of(const Commits& commits) {
    std::string name(commits.getSizeInBytes(), '\0');
    commits.write(name.data());
    return name;
  }

  bool take_free(Group& group, size_t item) {
    if (group.items.size() == group.records.count()) return false;
    group.items.push_back(item);
    return true;
  }

  // An item takes another one's record if that finds another record: the augmenting path of a bipartite matching.
  bool take(size_t item, bool strict, std::set<const Group*>& met) {
    const Item& one = items_[item];
    for (Group& group : groups_) {
      ask();
      if (met.size() >= groups_met_max) return false;
      if (met.contains(&group) || !one.named_by.isSubset(group.named_by)) continue;
      if (strict && one.others.intersect(group.named_by)) continue;
      met.insert(&group);
      if (take_free(group, item)) return true;
      for (size_t& other : group.items) {
        if (!take(other, strict, met)) continue;
        other = item;
        return true;
      }
    }
    return false;
  }

  // If the same content was written more than once, each of its records is named by some of the commits.
  bool take_parts(size_t item, bool strict) {
    const Item& one = items_[item];
    std::vector<Group*> parts;
    for (Commits left = one.named_by; !left.isEmpty();) {
      ask();
      Group* best = nullptr;
      const auto rank = [&](const Group& group) {
        return std::pair(group.named_by.and_cardinality(left), -static_cast<int64_t>(group.named_by.cardinality()));
      };
      for (Group& group : groups_) {
        if (group.items.size() == group.records.count() || !group.named_by.contains(left.minimum())) continue;
        if (strict && !group.in_trees.isSubset(left)) continue;
        if (!best || rank(group) > rank(*best)) best = &group;
      }
      if (!best) {
        if (strict)
          for (Group* part : parts) part->items.pop_back();
        return !strict;
      }
      left -= best->named_by;
      take_free(*best, item);
      parts.push_back(best);
    }
    return true;
  }

  std::map<RecordId, Bytes> found() const {
    std::map<RecordId, Bytes> found;
    for (const Group& group : groups_) {
      size_t next = 0;
      group.records.for_each([&](RecordId record) {
        if (next < group.items.size()) found.emplace(record, *items_[group.items[next++]].key);
      });
    }
    return found;
  }

  Transaction& transaction_;
  const PurgesToMend& mend_;
  BranchStore& store_;
  const Roots& roots_;
  std::vector<OfCommit> commits_;
  std::vector<Group> groups_;
  std::unordered_map<Bytes, Key> keys_;
  std::vector<Item> items_;
  Commits read_;      // their whole trees were read
  Commits treeless_;  // or their trees can't be read
};

}  // namespace

std::map<RecordId, Bytes> mend_purges(Transaction& transaction, const PurgesToMend& mend) {
  return PurgeSearch(transaction, mend).run();
}

}  // namespace versions
