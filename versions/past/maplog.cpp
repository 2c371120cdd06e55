#include "versions/past/maplog.h"

#include <algorithm>
#include <tuple>

#include "base/varint.h"

namespace versions::past {
namespace {

constexpr char start_kind = 's', open_kind = 'o', node_kind = 'n';

[[noreturn]] void damaged() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of a snapshot log is damaged");
}

constexpr size_t number_bytes = 8;

}  // namespace

// The pages are small because their rows soon go: walks pass over what is left of them until they leave memory.
storage::TableOptions Maplog::table_options() {
  return {.block_compressor = "lz4", .memory_page_bytes = 4 << 20, .prefix_compression = true};
}

// --- keys

base::Bytes Maplog::start_key(SnapshotId snapshot) const {
  base::Bytes key = prefix_;
  key.push_back(start_kind);
  base::append_be64(key, snapshot);
  return key;
}

base::Bytes Maplog::open_key(SnapshotId snapshot, Stamp number, RecordId row) const {
  base::Bytes key = prefix_;
  key.push_back(open_kind);
  base::append_be64(key, snapshot);
  base::append_be64(key, number);
  base::append_be64(key, static_cast<uint64_t>(row));
  return key;
}

base::Bytes Maplog::node_key(unsigned level, uint64_t index) const {
  base::Bytes key = prefix_;
  key.push_back(node_kind);
  key.push_back(static_cast<char>(level));
  base::append_be64(key, index);
  return key;
}

base::BytesView Maplog::key_of(const storage::TableCursor& cursor, char kind) const {
  const base::BytesView key = cursor.key();
  return key.size() > prefix_.size() && key.starts_with(prefix_) && key[prefix_.size()] == kind ? key.substr(prefix_.size())
                                                                                                : base::BytesView();
}

std::optional<Maplog::Open> Maplog::open_at(const storage::TableCursor& cursor) const {
  const base::BytesView key = key_of(cursor, open_kind);
  if (key.empty()) return std::nullopt;
  base::BytesView value = cursor.value();
  const auto content = base::take_varint(value);
  if (key.size() != 1 + 3 * number_bytes || !content || *content == 0 || !value.empty()) damaged();
  return Open{base::load_be64(key.data() + 1),
              {static_cast<RecordId>(base::load_be64(key.data() + 1 + 2 * number_bytes)), *content}};
}

// --- nodes

SkippyNodePtr SkippyCache::get(const base::Bytes& name) {
  const base::MutexLock lock(mutex_);
  const SkippyNodePtr* found = nodes_.get(name);
  return found ? *found : nullptr;
}

void SkippyCache::put(const base::Bytes& name, const SkippyNodePtr& node) {
  const base::MutexLock lock(mutex_);
  nodes_.put(name, node, node->memory_bytes());
}

void SkippyCache::clear() {
  const base::MutexLock lock(mutex_);
  nodes_.clear();
}
size_t SkippyCache::bytes() const {
  const base::MutexLock lock(mutex_);
  return nodes_.cost();
}

// Nodes in the table, as one transaction sees them. Nodes that were read are cached, since a number is never given to another
// node. A node that was written isn't cached before somebody reads it, because the transaction may be rolled back.
class Maplog::Nodes : public SkippyNodes {
 public:
  Nodes(const Maplog& log, storage::Transaction& transaction) : log_(log), transaction_(transaction) {}

  uint64_t count(unsigned level) override {
    if (level < counts_.size()) return counts_[level];
    for (unsigned at = static_cast<unsigned>(counts_.size()); at <= level; ++at) counts_.push_back(count_in_table(at));
    return counts_[level];
  }

  SkippyNodePtr get(unsigned level, uint64_t index) override {
    const base::Bytes key = log_.node_key(level, index), name = log_.table_.name() + key;
    if (SkippyNodePtr known = log_.cache_.get(name)) return known;
    const auto bytes = log_.table_.get(transaction_, key);
    if (!bytes) damaged();
    SkippyNodePtr node = SkippyNode::decode(*bytes).or_throw();
    if (!fits(*node, level, index)) damaged();
    log_.cache_.put(name, node);
    return node;
  }

  void add(unsigned level, SkippyNodePtr node) override {
    const uint64_t index = count(level);
    if (!log_.table_.insert(transaction_, log_.node_key(level, index), node->encode())) throw storage::WriteConflict();
    counts_[level] = index + 1;
  }

 private:
  bool fits(const SkippyNode& node, unsigned level, uint64_t index) {
    if (node.is_leaf() != (level == 0)) return false;
    if (level == 0) return node.end() <= log_.options_.node_mappings;
    const uint64_t children = node.child_end() - node.first_child();
    if (log_.options_.fan_in > 0) return node.first_child() == index * log_.options_.fan_in && children == log_.options_.fan_in;
    return node.first_child() >= index && node.child_end() <= count(level - 1);
  }
  uint64_t count_in_table(unsigned level) {
    storage::TableCursor cursor = log_.table_.cursor(transaction_);
    if (!cursor.seek_back(log_.node_key(level, UINT64_MAX))) return 0;
    const base::BytesView key = log_.key_of(cursor, node_kind);
    if (key.size() != 2 + number_bytes || key[1] != static_cast<char>(level)) return 0;
    return base::load_be64(key.data() + 2) + 1;
  }

  const Maplog& log_;
  storage::Transaction& transaction_;
  std::vector<uint64_t> counts_;
};

// --- writing

void Maplog::append(storage::Transaction& transaction, SnapshotId snapshot, Stamp number, const Mapping& mapping) const {
  base::Bytes value;
  base::append_varint(value, mapping.content);
  table_.put(transaction, open_key(snapshot, number, mapping.row), value);
}

size_t Maplog::seal(storage::Transaction& transaction, SnapshotId below) const {
  Nodes nodes(*this, transaction);
  SnapshotId begun = 0;  // the newest snapshot that has a start
  {
    storage::TableCursor cursor = table_.cursor(transaction);
    const base::BytesView last = cursor.seek_back(start_key(UINT64_MAX)) ? key_of(cursor, start_kind) : base::BytesView();
    if (last.size() == 1 + number_bytes) begun = base::load_be64(last.data() + 1);
  }
  size_t sealed = 0;
  // The rows that were taken are gone, but walks pass over them until long after the transaction. So each node is looked for
  // behind the one before.
  for (base::Bytes from = open_key(0, 0);;) {
    std::vector<Mapping> mappings;
    std::vector<SkippyNode::Start> starts;
    base::Bytes last;
    {
      storage::TableCursor cursor = table_.cursor(transaction);
      for (bool there = cursor.seek(from); there; there = cursor.next()) {
        const auto open = open_at(cursor);
        if (!open || open->snapshot >= below) break;
        if (starts.empty() || starts.back().snapshot != open->snapshot)
          starts.push_back({open->snapshot, static_cast<uint32_t>(mappings.size())});
        mappings.push_back(open->mapping);
        if (mappings.size() == options_.node_mappings) {
          last = cursor.key();
          break;
        }
      }
    }
    if (last.empty()) return sealed;
    const uint64_t number = nodes.count(0);
    for (const SkippyNode::Start& start : starts) {
      if (start.snapshot <= begun) continue;
      base::Bytes place;
      base::append_varint(place, number);
      base::append_varint(place, start.offset);
      table_.put(transaction, start_key(start.snapshot), place);
      begun = start.snapshot;
    }
    sealed += mappings.size();
    add_to_levels(nodes, options_, std::make_shared<SkippyNode>(std::move(mappings), std::move(starts)));
    table_.truncate(transaction, from, last);
    from = std::move(last);
  }
}

// --- reading

LogPosition Maplog::start(storage::Transaction& transaction, Nodes& nodes, SnapshotId snapshot) const {
  storage::TableCursor cursor = table_.cursor(transaction);
  if (!cursor.seek(start_key(snapshot)) || key_of(cursor, start_kind).empty()) return {nodes.count(0), 0};
  base::BytesView place = cursor.value();
  const auto node = base::take_varint(place), offset = base::take_varint(place);
  if (!node || !offset || *node >= nodes.count(0) || *offset >= options_.node_mappings) damaged();
  return {*node, static_cast<uint32_t>(*offset)};
}

struct LogScan::State {
  State(const Maplog& of, storage::Transaction& transaction, SnapshotId from, Stamp number)
      : log(of),
        transaction(transaction),
        snapshot(from),
        number(number),
        nodes(of, transaction),
        levels(nodes, of.options_, of.start(transaction, nodes, from)) {}

  const Maplog& log;
  storage::Transaction& transaction;
  const SnapshotId snapshot;
  const Stamp number;
  Maplog::Nodes nodes;
  SkippyScan levels;
  std::optional<storage::TableCursor> open;  // stands on the last open mapping that was given
  bool ended = false;
  std::vector<Mapping> run;
};

LogScan::LogScan(const Maplog& log, storage::Transaction& transaction, SnapshotId snapshot, Stamp number)
    : state_(std::make_unique<State>(log, transaction, snapshot, number)) {}
LogScan::~LogScan() = default;

MappingRun LogScan::next() {
  constexpr size_t run_max = 256;
  State& state = *state_;
  if (!state.open) {
    if (const auto run = state.levels.next(); !run.empty()) {
      scanned_ += run.size();
      return run;
    }
  }
  state.run.clear();
  if (state.ended) return {};
  bool there = true;
  if (!state.open) {
    state.open.emplace(state.log.table_.cursor(state.transaction));
    there = state.open->seek(state.log.open_key(state.snapshot, state.number));
  } else {
    there = state.open->next();
  }
  for (; there; there = state.open->next()) {
    const auto open = state.log.open_at(*state.open);
    if (!open) break;
    state.run.push_back(open->mapping);
    if (state.run.size() == run_max) break;
  }
  state.ended = state.run.size() < run_max;
  scanned_ += state.run.size();
  return {.mappings = state.run, .pages = {}};
}

std::optional<Stamp> OnDemandTable::find(RecordId row) {
  for (;;) {
    if (const auto known = table_.find(row); known || ended_) return known;
    const auto run = scan_.next();
    ended_ = run.empty();
    table_.take(run);
  }
}

PageTable Maplog::page_table(storage::Transaction& transaction, SnapshotId snapshot, size_t* scanned) const {
  PageTable table;
  LogScan scan(*this, transaction, snapshot);
  for (auto run = scan.next(); !run.empty(); run = scan.next()) table.take(run);
  if (scanned) *scanned = scan.scanned();
  return table;
}

std::optional<Stamp> Maplog::find(storage::Transaction& transaction, SnapshotId snapshot, RecordId row) const {
  LogScan scan(*this, transaction, snapshot);
  for (auto run = scan.next(); !run.empty(); run = scan.next()) {
    if (const auto content = run.find(row)) return content;
  }
  return std::nullopt;
}

void Maplog::each(storage::Transaction& transaction, SnapshotId first, SnapshotId end,
                  const std::function<bool(SnapshotId, const Mapping&)>& visit, Place* place) const {
  const Place began = place ? std::move(*place) : Place();
  const auto stop = [&](Place at) {
    if (place) *place = std::move(at);
  };
  if (began.open.empty()) {
    Nodes nodes(*this, transaction);
    const LogPosition from = began.sealed ? *began.sealed : start(transaction, nodes, first);
    for (uint64_t index = from.node; index < nodes.count(0); ++index) {
      const SkippyNodePtr node = nodes.get(0, index);
      uint32_t offset = index == from.node ? from.offset : 0;
      if (offset >= node->end()) damaged();
      for (; offset < node->end(); ++offset) {
        const SnapshotId snapshot = node->snapshot_of(offset);
        if (snapshot >= end) return;
        if (!visit(snapshot, node->mappings()[offset])) return stop({LogPosition{index, offset}, {}});
      }
    }
  }
  storage::TableCursor cursor = table_.cursor(transaction);
  for (bool there = cursor.seek(began.open.empty() ? open_key(first, 0) : began.open); there; there = cursor.next()) {
    const auto open = open_at(cursor);
    if (!open || open->snapshot >= end) return;
    if (!visit(open->snapshot, open->mapping)) return stop({std::nullopt, base::Bytes(cursor.key())});
  }
}

JointTable Maplog::joint_table(storage::Transaction& transaction, SnapshotId first, SnapshotId last) const {
  JointTable joint;
  auto& versions = joint.versions_;
  each(transaction, first, last, [&](SnapshotId snapshot, const Mapping& mapping) {
    versions.push_back({mapping.row, snapshot, mapping.content});
    return true;
  });
  size_t at_last = 0;
  joint.last_ = page_table(transaction, last, &at_last);
  joint.scanned_ = versions.size() + at_last;
  // If a snapshot has two mappings of a row, the first one counts.
  using Version = JointTable::Version;
  std::stable_sort(versions.begin(), versions.end(),
                   [](const Version& a, const Version& b) { return std::tie(a.row, a.last) < std::tie(b.row, b.last); });
  const auto same = [](const Version& a, const Version& b) { return a.row == b.row && a.last == b.last; };
  versions.erase(std::unique(versions.begin(), versions.end(), same), versions.end());
  for (size_t i = 0; i < versions.size(); ++i) {
    const Mapping group{versions[i].row, i + 1};
    joint.groups_.take({&group, 1});
  }
  return joint;
}

PageTable JointTable::table(SnapshotId snapshot) const {
  PageTable table;
  for (const Version& version : versions_) {
    if (version.last < snapshot) continue;
    const Mapping mapping{version.row, version.content};
    table.take({&mapping, 1});
  }
  table.take(last_);
  return table;
}

std::optional<Stamp> JointTable::find(SnapshotId snapshot, RecordId row) const {
  if (const auto group = groups_.find(row)) {
    for (size_t i = *group - 1; i < versions_.size() && versions_[i].row == row; ++i) {
      if (versions_[i].last >= snapshot) return versions_[i].content;
    }
  }
  return last_.find(row);
}

}  // namespace versions::past
