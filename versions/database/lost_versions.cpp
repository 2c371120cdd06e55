#include "versions/database/lost_versions.h"

#include <algorithm>

#include "base/guarded.h"
#include "versions/database/entry_keys.h"

namespace versions {

namespace {

using base::guarded;
using bson::Document;
using storage::LoggedDocument;

constexpr size_t ask_every = 256;

bool has_hash(const Document& document, const Hash& hash) {
  return sha256(document.bytes()) == hash;
}

}  // namespace

std::map<RecordId, LoggedDocument> LostVersions::find(const storage::Collection& collection,
                                                      const std::vector<storage::DamagedDocument>& lost,
                                                      const std::function<void()>& interrupted) {
  std::map<RecordId, LoggedDocument> logged;
  std::vector<WantedVersion> wanted;
  VersionLines::Records records;
  Transaction transaction(store_, Transaction::Mode::read);
  const auto keys = keys_of_unnamed(transaction, lost);
  for (const storage::DamagedDocument& document : lost) {
    if (interrupted) interrupted();
    const auto unnamed = keys.find(document.record);
    if (document.id.empty() && unnamed == keys.end()) continue;
    const Bytes key = document.id.empty() ? unnamed->second.front() : key_of(document.id.bytes());
    logged[document.record].why_not = "nothing says with which write it came";
    auto one = guarded([&] {
      const std::vector<Version> versions = shared_->store.history(transaction, key);
      for (const Version& version : versions) records.keys[version.record] = key;
      return this->wanted(transaction, document.record, key, versions);
    });
    if (one) {
      logged[document.record].why_not = "the log doesn't have the write that it came with";
      wanted_[document.record] = *one;
      wanted.push_back(std::move(*one));
    }
  }
  if (wanted.empty()) return logged;
  guarded([&] { add_others(transaction, records, interrupted); });
  lines_.emplace(VersionLines::Of{database_->name(), collection.uuid_bytes(), shared_->base.id()}, std::move(wanted),
                 std::move(records));
  log_.walk([&](const storage::LoggedEntry& entry) { lines_->meet(entry); },
            [&](const std::string& why) { lines_->meet_hole(why); }, interrupted);
  lines_->meet_end();
  contents_.emplace(*shared_, log_, *lines_);
  for (auto& [record, one] : logged) {
    const auto found = lines_->found().find(record);
    if (found == lines_->found().end()) {
      const auto asked = wanted_.find(record);
      const std::string why = asked == wanted_.end() ? std::string() : lines_->why_not(asked->second.key);
      if (!why.empty()) one.why_not = why;
    } else if (found->second.merge && !guarded([&] { return is_written(transaction, record, *found->second.merge); })) {
      one.why_not = "it isn't certain that the merge which the log has for it wrote it";
    } else {
      one = {found->second.generation, {}};
    }
  }
  return logged;
}

// Under a collation the index on `_id` doesn't name a document, but the store's own entry does, unless the document is older than
// the first branch.
std::unordered_map<RecordId, std::vector<Bytes>> LostVersions::keys_of_unnamed(
    Transaction& transaction, const std::vector<storage::DamagedDocument>& lost) {
  RecordSet unnamed;
  for (const storage::DamagedDocument& document : lost) {
    if (document.id.empty()) unnamed.add(document.record);
  }
  return guarded([&] { return entry_keys(transaction, shared_->store, unnamed); });
}

void LostVersions::add_others(Transaction& transaction, VersionLines::Records& records,
                              const std::function<void()>& interrupted) {
  const auto entries = shared_->base.stored_indexes()->front()->cursor(transaction, storage::Direction::forward);
  entries->seek({});
  for (size_t met = 0; entries->next(); ++met) {
    if (interrupted && met % ask_every == 0) interrupted();
    if (!records.keys.contains(entries->record())) records.others.add(entries->record());
  }
}

std::optional<WantedVersion> LostVersions::wanted(Transaction& transaction, RecordId record, const Bytes& key,
                                                  const std::vector<Version>& versions) {
  WantedVersion wanted{.record = record, .key = key, .kind = WantedVersion::Kind::first};
  if (segment_of(record) < first_segment) return wanted;
  const auto version = std::find_if(versions.begin(), versions.end(), [&](const Version& one) { return one.record == record; });
  if (version == versions.end()) return std::nullopt;
  if (version->commit != 0) {
    wanted.kind = WantedVersion::Kind::committed;
    wanted.commit = shared_->graph.commit(transaction, version->commit)->id;
    return wanted;
  }
  if (!branches_) branches_ = shared_->graph.branches(transaction);
  for (const Branch& branch : *branches_) {
    const auto added = shared_->store.added_at(transaction, branch.id, record);
    if (!added) continue;
    wanted.kind = WantedVersion::Kind::pending;
    wanted.branch = branch.name;
    wanted.stamp = *added;
    return wanted;
  }
  return std::nullopt;
}

// The entry of a record says with which commit it came. An entry that an earlier repair wrote may name a merge that only took the
// record over, if commits from before were dropped by then. Such a record is shown by a commit that the merge took changes from.
bool LostVersions::is_written(Transaction& transaction, RecordId record, const VersionLines::Merge& merge) {
  VersionGraph& graph = shared_->graph;
  if (has_all_commits(transaction)) return true;
  const auto from = graph.find(transaction, merge.from);
  if (merge.imported || !from) return false;
  const auto taken_from = graph.commit(transaction, *from);
  std::vector<CommitNumber> sides = taken_from->parents;
  sides.push_back(*from);
  return std::none_of(sides.begin(), sides.end(), [&](CommitNumber side) {
    return graph.dropped(transaction, side) || shared_->store.shows(transaction, shared_->view_of(transaction, side), record);
  });
}

bool LostVersions::has_all_commits(Transaction& transaction) {
  const VersionGraph& graph = shared_->graph;
  if (!has_all_commits_) has_all_commits_ = !graph.grafted(transaction) && graph.counts(transaction).dropped == 0;
  return *has_all_commits_;
}

base::Result<Bytes> LostVersions::content(RecordId record, const std::function<void()>& interrupted) {
  const WantedVersion& version = wanted_.at(record);
  const size_t step = lines_->found().at(record).step;
  Transaction transaction(store_, Transaction::Mode::read);
  transaction.pass_by_caches();
  const auto fail = [](std::string why) { return base::Failure{base::ErrorCode::data_corruption_detected, std::move(why)}; };
  const Named named = this->named(transaction, version, interrupted);
  if (named.damaged) return fail("the trees of the commits that show it can't be read");
  const auto document = made_by(transaction, version, step, named.hash, interrupted);
  if (!document) return fail(why_not(version.key, step, named.hash.has_value()));
  return Bytes(document->bytes());
}

std::optional<Document> LostVersions::made_by(Transaction& transaction, const WantedVersion& version, size_t step,
                                              const std::optional<Hash>& hash, const std::function<void()>& interrupted) {
  const Bytes& key = version.key;
  auto document = contents_->after(transaction, key, step, interrupted);
  if (!hash || (document && has_hash(*document, *hash))) return document;
  if (lines_->steps(key)[step].kind == Step::Kind::names) return contents_->with_hash(transaction, key, *hash, interrupted);
  // If the log has what the write made, and that hasn't the hash, then it isn't the record's write.
  if (document) return std::nullopt;
  return contents_->changed_to(transaction, key, step, *hash, interrupted);
}

LostVersions::Named LostVersions::named(Transaction& transaction, const WantedVersion& version,
                                        const std::function<void()>& interrupted) {
  if (version.kind == WantedVersion::Kind::pending) return {};
  Named named;
  // The commit that the record came with is asked first: there may be many others.
  const auto own = guarded([&] { return shared_->graph.find(transaction, version.commit); });
  if (own) named = named_by(transaction, *own, version);
  if (named.hash) return {named.hash, false};
  const auto& all = commits(transaction);
  if (!all) return {{}, true};
  for (const CommitNumber number : *all) {
    if (number == own) continue;
    if (interrupted) interrupted();
    const Named one = named_by(transaction, number, version);
    if (one.hash) return one;
    named.damaged = named.damaged || one.damaged;
  }
  return named;
}

const std::optional<std::vector<CommitNumber>>& LostVersions::commits(Transaction& transaction) {
  if (!commits_) {
    commits_ = guarded([&]() -> std::optional<std::vector<CommitNumber>> {
      std::vector<CommitNumber> commits;
      for (const auto& [number, node] : shared_->graph.graph(transaction)) {
        if (!node.dropped) commits.push_back(number);
      }
      return commits;
    });
  }
  return *commits_;
}

LostVersions::Named LostVersions::named_by(Transaction& transaction, CommitNumber number, const WantedVersion& version) {
  Named damaged{{}, true};
  const auto named = guarded([&]() -> std::optional<Named> {
    if (shared_->graph.dropped(transaction, number)) return Named{};
    if (!shared_->store.shows(transaction, shared_->view_of(transaction, number), version.record)) return Named{};
    const Branches& branches = database_->branches();
    const auto commit = shared_->graph.commit(transaction, number);
    const auto root = branches.root_known(transaction, *commit, *commit->state_of(shared_->base.id()));
    if (!root) return Named{};
    const auto hash = branches.roots().find(transaction, *root, version.key);
    return Named{hash, !hash};
  });
  return named.value_or(damaged);
}

std::string LostVersions::why_not(const Bytes& key, size_t step, bool has_hash) const {
  const Step& newest = lines_->steps(key)[step];
  const std::string entry = storage::text_of(newest.stamp);
  if (has_hash && contents_->gave_up(key))
    return "there are more contents of the document than a repair compares with its commits";
  if (newest.kind == Step::Kind::names)
    return "the log's entry of it, " + entry + ", only names its content" +
           (has_hash ? ", and no other content of the document is the one that its commits name" : "");
  return has_hash ? "the log's entries up to " + entry + " don't make the content that its commits name"
                  : "the log doesn't have the content that its entry " + entry + " changed";
}

}  // namespace versions
