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

}  // namespace

// Writes the entries of one run in their order.
class SortRuns::Writer {
 public:
  Writer(const std::string& path, storage::Engine& engine, Allowance& allowance)
      : engine_(engine), allowance_(allowance), file_(path, std::ios::binary | std::ios::trunc) {}

  void write(const SortEntry& entry) {
    const bson::Document metadata = entry.metadata ? metadata_document(*entry.metadata) : bson::Document();
    const bson::BytesView more = entry.metadata ? metadata.bytes() : bson::BytesView();
    const size_t bytes = sizeof(Header) + entry.key.size() + entry.document.size() + more.size();
    allowance_.work_on(bytes);
    storage::require_temporary_room(engine_, bytes);
    const Header header{static_cast<uint32_t>(entry.key.size()),
                        static_cast<uint32_t>(entry.document.size()),
                        entry.arrival,
                        entry.record,
                        static_cast<uint32_t>(more.size()),
                        0};
    file_.write(reinterpret_cast<const char*>(&header), sizeof header);
    if (const base::Cipher* const cipher = engine_.file_cipher()) {
      put(cipher->seal(entry.key + entry.document.bytes() + bson::Bytes(more)));
    } else {
      put(entry.key);
      put(entry.document.bytes());
      put(more);
    }
    bytes_ += static_cast<int64_t>(bytes);
  }
  // Returns how many bytes were written.
  int64_t close() {
    file_.close();
    if (!file_) throw base::OperationError(base::ErrorCode::out_of_disk_space, "a sorted run could not be written");
    return bytes_;
  }

 private:
  void put(bson::BytesView bytes) { file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); }

  storage::Engine& engine_;
  Allowance& allowance_;
  std::ofstream file_;
  int64_t bytes_ = 0;
};

SortRuns::SortRuns(storage::Engine& engine, Allowance& allowance)
    : directory_(engine.options().path + "/_tmp"), engine_(engine), allowance_(allowance), heads_(allowance.memory()) {}

SortRuns::~SortRuns() {
  for (const auto& run : runs_) {
    std::error_code ignored;
    std::filesystem::remove(run->path, ignored);
  }
}

SortRuns::Run& SortRuns::new_run(int level) {
  static std::atomic<uint64_t> serial{0};
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  auto run = std::make_unique<Run>();
  run->path = directory_ + "/sort-" + std::to_string(getpid()) + "-" + std::to_string(++serial);
  run->level = level;
  return *runs_.emplace_back(std::move(run));  // the file goes with the runs, whatever happens to it
}

void SortRuns::write(const std::vector<SortEntry>& sorted) {
  Writer writer(new_run(0).path, engine_, allowance_);
  for (const SortEntry& entry : sorted) writer.write(entry);
  bytes_ += writer.close();
  ++written_;
}

void SortRuns::merge_full_levels() {
  for (int level = 0; runs_.size() >= fan_in && runs_[runs_.size() - fan_in]->level == level; ++level)
    merge_last(fan_in, level + 1);
}

void SortRuns::merge_last(size_t runs, int level) {
  const size_t first = runs_.size() - runs;
  start(first);
  Run& merged = new_run(level);
  Writer writer(merged.path, engine_, allowance_);
  SortEntry entry;
  while (next_head(entry)) writer.write(entry);
  writer.close();
  for (size_t i = first; i < first + runs; ++i) {
    std::error_code ignored;
    std::filesystem::remove(runs_[i]->path, ignored);
  }
  runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(first), runs_.end() - 1);
}

bool SortRuns::read(Run& run) {
  Header header;
  if (!run.file.read(reinterpret_cast<char*>(&header), sizeof header)) {
    if (run.file.gcount() == 0 && run.file.eof()) return false;
    throw base::OperationError(base::ErrorCode::internal_error, "a sorted run ended early: " + run.path);
  }
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
  heads_.add(run.head.bytes());
  return true;
}

void SortRuns::start(size_t first) {
  for (size_t i = first; i < runs_.size(); ++i) {
    Run& run = *runs_[i];
    run.file.open(run.path, std::ios::binary);
    if (!run.file) throw base::OperationError(base::ErrorCode::internal_error, "a sorted run can't be opened: " + run.path);
    if (read(run)) heap_.push_back(&run);
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
}

bool SortRuns::next_head(SortEntry& entry) {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Run* run = heap_.back();
  heads_.set(heads_.bytes() - run->head.bytes());
  entry = std::move(run->head);
  if (read(*run)) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  } else {
    heap_.pop_back();
    run->file.close();
  }
  return true;
}

bool SortRuns::next(SortEntry& entry) {
  if (!started_) {
    started_ = true;
    start(0);
  }
  return next_head(entry);
}

}  // namespace server::query::exec
