#include "storage/upkeep/backup_stream.h"

#include <algorithm>

#include "base/random.h"
#include "storage/engine/engine.h"

namespace storage {
namespace {

using base::Bytes;

constexpr uint64_t piece_bytes = 1 << 20;

std::string new_id() {
  Bytes random;
  base::append_be64(random, base::entropy64());
  base::append_be64(random, base::entropy64());
  return base::to_hex(random);
}

std::vector<BackupRange> ranges_of(const Backup& backup, const BackupFile& file) {
  if (auto changed = backup.changed(file.name)) return std::move(*changed);
  return {{0, file.bytes}};
}

// Returns the timestamp below which everything is committed. On a server that nobody writes to it follows the clock, so that the
// backup also covers the seconds since the last write. A set writes to its log by itself.
Stamp committed_below(Engine& engine) {
  const auto second = static_cast<Stamp>(engine.clock().wall_ms() / 1000);
  if (!engine.options().replicated) engine.raise_stamp((second << 32) - 1);
  return engine.all_committed();
}

}  // namespace

// A transaction that commits before the backup begins is in it.
BackupStream::BackupStream(Engine& engine, const std::string& from)
    : committed_below_(committed_below(engine)), backup_(std::make_unique<Backup>(engine, BackupLink{new_id(), from})) {
  head_.link = backup_->link();
  head_.time_ms = engine.clock().wall_ms();
  head_.checkpoint = backup_->checkpointed_stamp();
  head_.log_below = engine.options().replicated ? head_.checkpoint + 1 : committed_below_;
  for (const BackupFile& file : backup_->files()) {
    head_.files.push_back({{file.name, file.bytes}, !backup_->changed(file.name)});
    for (const BackupRange& range : ranges_of(*backup_, file)) head_.bytes += range.bytes;
  }
  if (!head_.files.empty()) ranges_ = ranges_of(*backup_, head_.files.front());
  pending_ = encoder_.head(head_);
}

BackupStream::~BackupStream() = default;

std::optional<BackupPart> BackupStream::next_part() {
  while (file_ < head_.files.size()) {
    const BackupHead::File& file = head_.files[file_];
    while (range_ < ranges_.size() && ranges_[range_].bytes == 0) ++range_;
    if (range_ == ranges_.size()) {
      range_ = 0;
      if (++file_ < head_.files.size()) ranges_ = ranges_of(*backup_, head_.files[file_]);
      continue;
    }
    BackupRange& range = ranges_[range_];
    BackupPart part{.file = file_, .offset = range.offset, .data = {}, .zeros = 0};
    part.data = backup_->read(file.name, range.offset, std::min(piece_bytes, range.bytes));
    range.offset += part.data.size();
    range.bytes -= part.data.size();
    done_ += part.data.size();
    // The journal's files are allocated long before they are needed, so most of a new one is zeros.
    const size_t data_bytes = part.data.find_last_not_of('\0') + 1;
    part.zeros = part.data.size() - data_bytes;
    part.data.resize(data_bytes);
    return part;
  }
  return std::nullopt;
}

Bytes BackupStream::next() {
  if (taken_ == pending_.size()) {
    if (ended_) return {};
    taken_ = 0;
    const auto part = next_part();
    ended_ = !part;
    pending_ = part ? encoder_.part(*part) : encoder_.end();
    if (ended_) backup_.reset();  // the files are free before the last bytes have arrived
  }
  Bytes piece = pending_.substr(taken_, piece_bytes + (1 << 10));
  taken_ += piece.size();
  return piece;
}

}  // namespace storage
