#include "replication/consensus/test_support.h"

#include "base/error.h"

namespace replication::consensus {

std::optional<LogImage> MemoryLogDisk::load() {
  std::lock_guard lock(mutex_);
  if (!begun_) return std::nullopt;
  LogImage image{meta_, {}, rows_.empty() ? meta_.compacted.index : rows_.rbegin()->first};
  for (const auto& [index, entry] : rows_) {
    if (image.runs.empty() || image.runs.back().term != entry->term) image.runs.push_back({index, entry->term});
  }
  return image;
}

void MemoryLogDisk::write_on(const std::vector<LogBatch>& batches, size_t& done) {
  while (stall) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (full) throw base::OperationError(base::ErrorCode::out_of_disk_space, "no room");
  std::lock_guard lock(mutex_);
  for (; done < batches.size(); ++done) {
    const LogBatch& batch = batches[done];
    begun_ = true;
    meta_ = batch.meta;
    if (batch.start_over) rows_.clear();
    if (!batch.entries.empty()) rows_.erase(rows_.lower_bound(batch.entries.front()->index), rows_.end());
    for (const EntryPtr& entry : batch.entries) rows_[entry->index] = entry;
    rows_.erase(rows_.begin(), rows_.upper_bound(meta_.compacted.index));
  }
}

std::vector<EntryPtr> MemoryLogDisk::read(Index low, Index high, uint64_t bytes_max) {
  std::lock_guard lock(mutex_);
  std::vector<EntryPtr> out;
  uint64_t bytes = 0;
  for (; low < high; ++low) {
    const EntryPtr& entry = rows_.at(low);
    bytes += entry->bytes();
    if (bytes > bytes_max && !out.empty()) break;
    out.push_back(entry);
  }
  return out;
}

TestMember::TestMember(MemberId own, LogDisk& disk, bool compress, base::Clock& clock)
    : id(own), transport({.set_name = "test", .self = own, .host = "127.0.0.1", .port = 0, .compress = compress}) {
  NodeOptions options;
  options.core.id = id;
  options.core.seed = id;
  options.core.applied = disk.load() ? disk.load()->meta.compacted.index : 0;
  applied = options.core.applied;
  node = std::make_unique<RaftNode>(options, clock, disk, transport, *this);
}

TestMember::~TestMember() {
  transport.set_receiver(nullptr);
  node->stop();
}

void TestMember::decided(const Output& out) {
  for (const EntryPtr& entry : out.committed) {
    if (on_commit) on_commit(entry);
  }
  std::lock_guard lock(mutex);
  for (const EntryPtr& entry : out.committed) {
    applied = entry->index;
    if (keep && entry->kind == EntryKind::data && !entry->data.empty()) contents.push_back(entry->data);
  }
  if (out.unclear) unclear.push_back(*out.unclear);
  reads.insert(reads.end(), out.reads.begin(), out.reads.end());
  if (out.behind) behind = out.behind;
  if (!out.committed.empty()) node->applied(applied);
  changed.notify_all();
}

bool TestMember::wait_applied(Index index) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, base::testing::deadline, [&] { return applied >= index; });
}

void introduce(const std::vector<TestMember*>& members) {
  for (TestMember* member : members) {
    for (TestMember* other : members) {
      if (other != member) member->transport.set_peer(other->id, "127.0.0.1", other->transport.port());
    }
    member->transport.set_receiver(member->node.get());
  }
}

TestMember* wait_leader(const std::vector<TestMember*>& members) {
  TestMember* found = nullptr;
  wait_until([&] {
    for (TestMember* member : members) {
      if (member->node->status().may_read) found = member;
    }
    return found != nullptr;
  });
  return found;
}

}  // namespace replication::consensus
