#include "bench/branches/dataset.h"

#include <algorithm>
#include <filesystem>

#include "bench/measure/cpu_clock.h"
#include "bson/builder.h"

namespace bench::branches {

using namespace versions;

const char* name_of(Strategy strategy) {
  constexpr const char* names[] = {"deep", "flat", "science", "curation"};
  return names[static_cast<size_t>(strategy)];
}

const char* name_of(Layout layout) {
  constexpr const char* names[] = {"tuple-first", "tuple-first, by tuple", "version-first", "hybrid"};
  return names[static_cast<size_t>(layout)];
}

base::Bytes random_record(base::Random& random, int64_t id) {
  bson::Builder record;
  record.append("_id", id);
  for (size_t i = 0; i < columns; ++i) record.append("c" + std::to_string(i), static_cast<int64_t>(random()));
  return record.done().bytes();
}

base::Bytes with_column(base::BytesView record, size_t column, int64_t value) {
  bson::Builder changed;
  const std::string name = "c" + std::to_string(column);
  for (const bson::Element& field : bson::DocumentView(record)) {
    if (field.name == name)
      changed.append(name, value);
    else
      changed.append_element(field);
  }
  return changed.done().bytes();
}

// --- the repository

Repository::Repository(const std::string& folder, Layout layout) : layout_(layout), folder_(folder) {
  std::filesystem::create_directories(folder);
  storage::StoreOptions options(base::system_clock());
  options.path = folder;
  options.cache_bytes = 512 << 20;
  options.dedup.enabled = false;  // versions are kept as deltas where they are written
  disk_ = std::make_unique<storage::Store>(options);
  collection_ = disk_->catalog().create("bench.records", {});
  forget();
  storage::in_transaction(*disk_, [&](storage::Transaction& transaction) { branches_->begin(transaction, {0}, {}); });
}

void Repository::forget() {
  branches_ = std::make_unique<Branches>(
      *disk_, 1, layout_,
      std::vector<Branches::Collection>{{"records", {*disk_, collection_->id(), collection_->records(), nullptr}}});
}

View Repository::view(storage::Transaction& transaction, const std::string& branch) {
  return branches_->view(transaction, branches_->head(transaction, branch), 0);
}

std::shared_ptr<const Commit> Repository::commit(const std::string& branch) {
  return storage::in_transaction(*disk_,
                                 [&](storage::Transaction& transaction) { return branches_->commit(transaction, branch, {}); });
}

uint64_t Repository::settled_bytes() {
  disk_->engine().checkpoint();
  for (const std::string& table : disk_->engine().table_names()) disk_->engine().compact(table);
  disk_->engine().checkpoint();
  uint64_t bytes = 0;
  for (const std::string& table : disk_->engine().table_names()) {
    bytes += static_cast<uint64_t>(disk_->engine().file_bytes(table) - disk_->engine().reusable_bytes(table));
  }
  return bytes;
}

uint64_t Repository::table_bytes(const std::string& kind) {
  uint64_t bytes = 0;
  for (const std::string& table : store().table_names()) {
    if (table.ends_with("-" + kind))
      bytes += static_cast<uint64_t>(disk_->engine().file_bytes(table) - disk_->engine().reusable_bytes(table));
  }
  return bytes;
}

// --- loading

Dataset::Dataset(const std::string& folder, const DatasetOptions& options)
    : repository(folder, options.layout), options_(options), random_(options.seed) {
  const CpuWatch watch;
  lines_.push_back(std::make_unique<Line>(Line{.name = "main", .keys = {}}));
  switch (options.strategy) {
    case Strategy::deep: deep(); break;
    case Strategy::flat: flat(); break;
    case Strategy::science: science(); break;
    case Strategy::curation: curation(); break;
  }
  for (auto& line : lines_) {
    commit(*line);
    heads.push_back(line->name);
  }
  load_seconds = watch.seconds();
}

void Dataset::operate(Line& line, size_t operations) {
  for (size_t left = operations; left > 0;) {
    const size_t batch = std::min({left, options_.batch, options_.commit_every - line.uncommitted});
    std::vector<int64_t> added;
    const auto random = random_;
    const int64_t next_key = next_key_;
    uint64_t bytes = 0;
    storage::in_transaction(repository.disk(), [&](storage::Transaction& transaction) {
      random_ = random;  // the same again after a conflict
      next_key_ = next_key;
      added.clear();
      bytes = 0;
      const View view = repository.view(transaction, line.name);
      for (size_t i = 0; i < batch; ++i) {
        const bool update = !line.keys.empty() && random_.unit() < options_.updates;
        const int64_t key = update ? line.keys[random_.below(line.keys.size())] : next_key_++;
        const base::Bytes record = random_record(random_, key);
        bytes += record.size();
        if (update) {
          const RecordId old = repository.store().find(transaction, view, key_of(record));
          repository.store().update(transaction, view, old, record, transaction.next_stamp());
        } else {
          repository.store().insert(transaction, view, record, transaction.next_stamp());
          added.push_back(key);
        }
      }
    });
    line.keys.insert(line.keys.end(), added.begin(), added.end());
    written_bytes += bytes;
    line.uncommitted += batch;
    line.operations += batch;
    left -= batch;
    if (line.uncommitted == options_.commit_every) commit(line);
  }
}

void Dataset::commit(Line& line) {
  line.uncommitted = 0;
  const CpuWatch watch;
  const auto made = repository.commit(line.name);
  commit_seconds += watch.seconds();
  if (made) commits.push_back(made->number);
}

Dataset::Line& Dataset::fork(const Line& from) {
  auto line = std::make_unique<Line>(Line{.name = "b" + std::to_string(lines_.size()), .keys = from.keys});
  storage::in_transaction(repository.disk(), [&](storage::Transaction& transaction) {
    repository.branches().create(transaction, line->name, from.name);
  });
  return *lines_.emplace_back(std::move(line));
}

void Dataset::merge(Line& into, const Line& from, bool three_way) {
  commit(into);
  const CpuWatch watch;
  const Merged merged = storage::in_transaction(repository.disk(), [&](storage::Transaction& transaction) {
    const CommitNumber theirs = repository.branches().head(transaction, from.name).head;
    return repository.branches().merge(transaction, into.name, theirs,
                                       three_way ? fields(Prefer::theirs) : whole_documents(Prefer::theirs), {});
  });
  MergeFigures& figures = three_way ? this->three_way : two_way;
  if (!merged.commit) return;
  figures.seconds += watch.seconds();
  figures.bytes += merged.changed_bytes;
  ++figures.count;
  commits.push_back(merged.commit->number);
  std::vector<int64_t> keys;
  std::set_union(into.keys.begin(), into.keys.end(), from.keys.begin(), from.keys.end(), std::back_inserter(keys));
  into.keys = std::move(keys);
}

void Dataset::deep() {
  const size_t each = options_.operations / (options_.branches + 1);
  operate(*lines_[0], each);
  for (size_t i = 0; i < options_.branches; ++i) {
    commit(*lines_.back());
    Line& line = fork(*lines_.back());
    operate(line, each);
  }
  scanned = lines_.back()->name;
  compared = lines_[lines_.size() - 2]->name;
}

void Dataset::flat() {
  const size_t each = options_.operations / (options_.branches + 1);
  operate(*lines_[0], each);
  commit(*lines_[0]);
  for (size_t i = 0; i < options_.branches; ++i) fork(*lines_[0]);
  for (size_t left = each * options_.branches; left > 0;) {
    const size_t some = std::min<size_t>(left, 20);
    operate(*lines_[1 + random_.below(options_.branches)], some);
    left -= some;
  }
  scanned = lines_.back()->name;
  compared = "main";
}

// Makes branches from the mainline or from one that is still worked on; each is worked on for a fixed time.
void Dataset::science() {
  const size_t each = options_.operations / (options_.branches + 1);
  constexpr size_t active_max = 4;
  operate(*lines_[0], each);
  std::vector<Line*> active;
  for (size_t i = 0; i < options_.branches; ++i) {
    Line& from = active.empty() || random_.below(2) == 0 ? *lines_[0] : *active[random_.below(active.size())];
    commit(from);
    active.push_back(&fork(from));
    if (active.size() > active_max) active.erase(active.begin());
    for (size_t left = each; left > 0;) {
      const size_t some = std::min<size_t>(left, 20);
      const size_t pick = random_.below(active.size() + 2);  // the mainline twice as often
      operate(pick < active.size() ? *active[pick] : *lines_[0], some);
      left -= some;
    }
  }
  scanned = active.back()->name;
  compared = "main";
}

// Makes development branches from the mainline and short-lived ones from either, all merged back.
void Dataset::curation() {
  const size_t each = options_.operations / (options_.branches + 1);
  operate(*lines_[0], each);
  struct Open {
    Line* line;
    Line* parent;
    size_t until;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < options_.branches; ++i) {
    for (size_t at = open.size(); at-- > 0;) {  // so that children stand behind their parents
      if (open[at].until > i) continue;
      commit(*open[at].line);
      merge(*open[at].parent, *open[at].line, i % 2 == 0);
      open.erase(open.begin() + static_cast<ptrdiff_t>(at));
    }
    Line* parent = i % 3 == 0 || open.empty() ? lines_[0].get() : open.front().line;
    commit(*parent);
    Line& line = fork(*parent);
    // A child is merged before its parent.
    open.push_back({&line, parent, parent == lines_[0].get() ? i + 4 : std::min(i + 2, open.front().until - 1)});
    for (size_t left = each; left > 0;) {
      const size_t some = std::min<size_t>(left, 20);
      const size_t pick = random_.below(open.size() + 1);
      operate(pick < open.size() ? *open[pick].line : *lines_[0], some);
      left -= some;
    }
  }
  scanned = "main";
  compared = open.back().line->name;
}

}  // namespace bench::branches
