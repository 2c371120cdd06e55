#include "server/query/exec/sort_runs.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <unistd.h>

#include "base/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/room.h"

namespace server::query::exec {

namespace {

struct Header {
  uint32_t key_bytes;
  uint32_t document_bytes;
  int64_t arrival;
  storage::RecordId record;
  uint32_t metadata_bytes;  // 0: none
  uint32_t reserved;
};

// The entry that comes first is on top.
bool later(const SortEntry& a, const SortEntry& b) {
  return b < a;
}

}  // namespace

SortRuns::~SortRuns() {
  for (const auto& run : runs_) {
    std::error_code ignored;
    std::filesystem::remove(run->path, ignored);
  }
}

void SortRuns::add(const std::vector<SortEntry>& sorted) {
  static std::atomic<uint64_t> serial{0};
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  auto run = std::make_unique<Run>();
  run->path = directory_ + "/sort-" + std::to_string(getpid()) + "-" + std::to_string(++serial);
  const std::string& path = runs_.emplace_back(std::move(run))->path;  // the file goes with the runs, whatever happens to it
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const base::Cipher* const cipher = engine_.file_cipher();
  for (const SortEntry& entry : sorted) {
    const bson::Document metadata = entry.metadata ? metadata_document(*entry.metadata) : bson::Document();
    const bson::BytesView more = entry.metadata ? metadata.bytes() : bson::BytesView();
    storage::require_temporary_room(engine_, sizeof(Header) + entry.key.size() + entry.document.size() + more.size());
    const Header header{static_cast<uint32_t>(entry.key.size()),
                        static_cast<uint32_t>(entry.document.size()),
                        entry.arrival,
                        entry.record,
                        static_cast<uint32_t>(more.size()),
                        0};
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    if (cipher) {
      const bson::Bytes sealed = cipher->seal(entry.key + entry.document.bytes() + bson::Bytes(more));
      file.write(sealed.data(), static_cast<std::streamsize>(sealed.size()));
    } else {
      file.write(entry.key.data(), static_cast<std::streamsize>(entry.key.size()));
      file.write(entry.document.bytes().data(), static_cast<std::streamsize>(entry.document.size()));
      file.write(more.data(), static_cast<std::streamsize>(more.size()));
    }
    bytes_ += static_cast<int64_t>(sizeof header + entry.key.size() + entry.document.size() + more.size());
  }
  file.close();
  if (!file) throw base::OperationError(base::ErrorCode::out_of_disk_space, "could not write a sorted run to " + directory_);
}

bool SortRuns::read(Run& run) {
  Header header;
  if (!run.file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  bson::Bytes document;
  bson::Bytes metadata;
  if (const base::Cipher* cipher = engine_.file_cipher()) {
    bson::Bytes sealed(size_t{header.key_bytes} + header.document_bytes + header.metadata_bytes + base::Cipher::overhead, '\0');
    run.file.read(sealed.data(), static_cast<std::streamsize>(sealed.size()));
    const auto plain = run.file ? cipher->open(sealed) : std::nullopt;
    if (!plain) throw base::OperationError(base::ErrorCode::data_corruption_detected, "a sorted run is damaged: " + run.path);
    run.head.key = plain->substr(0, header.key_bytes);
    document = plain->substr(header.key_bytes, header.document_bytes);
    metadata = plain->substr(size_t{header.key_bytes} + header.document_bytes);
  } else {
    run.head.key.resize(header.key_bytes);
    document.resize(header.document_bytes);
    metadata.resize(header.metadata_bytes);
    run.file.read(run.head.key.data(), header.key_bytes);
    run.file.read(document.data(), header.document_bytes);
    run.file.read(metadata.data(), header.metadata_bytes);
    if (!run.file) throw base::OperationError(base::ErrorCode::internal_error, "a sorted run ended early: " + run.path);
  }
  run.head.document = bson::Document(std::move(document));
  run.head.arrival = header.arrival;
  run.head.record = header.record;
  run.head.metadata.reset();
  if (!metadata.empty())
    run.head.metadata = std::make_unique<DocumentMetadata>(read_metadata(bson::Document(std::move(metadata))));
  return true;
}

void SortRuns::start() {
  started_ = true;
  for (const auto& run : runs_) {
    run->file.open(run->path, std::ios::binary);
    if (read(*run)) heap_.push_back(run.get());
  }
  std::make_heap(heap_.begin(), heap_.end(), [](const Run* a, const Run* b) { return later(a->head, b->head); });
}

bool SortRuns::next(SortEntry& entry) {
  const auto order = [](const Run* a, const Run* b) { return later(a->head, b->head); };
  if (!started_) start();
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), order);
  Run* run = heap_.back();
  entry = std::move(run->head);
  if (read(*run)) {
    std::push_heap(heap_.begin(), heap_.end(), order);
  } else {
    heap_.pop_back();
  }
  return true;
}

}  // namespace server::query::exec
