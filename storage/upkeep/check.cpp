#include "storage/upkeep/check.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/guarded.h"
#include "storage/collections/catalog.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/directory.h"
#include "storage/engine/engine_files.h"
#include "storage/engine/internals.h"
#include "storage/engine/metadata_copy.h"
#include "storage/engine/overlay_files.h"
#include "storage/store.h"
#include "storage/upkeep/repair.h"
#include "storage/upkeep/validate.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

constexpr char lock_file[] = "WiredTiger.lock";
constexpr int32_t in_use = 98;  // DBPathInUse
constexpr size_t damaged_max = 10'000;
constexpr int never_seconds = 1'000'000;

// Tables are linked. Everything else is small and is copied: the journal, dictionaries, and what WiredTiger replaces as a whole.
void link_directory(const fs::path& from, const fs::path& to) {
  for (const std::string& name : engine_entries(from)) {
    if (name == lock_file || name == metadata_copy_file) continue;
    if (name.ends_with(".wt")) {
      fs::create_symlink(fs::canonical(from / name), to / name);
    } else {
      fs::copy(from / name, to / name, fs::copy_options::recursive);
    }
  }
}

class Check {
 public:
  Check(Store& store, const CheckRequest& request) : store_(store), request_(request) {}

  CheckReport run() {
    for (const std::string& db : store_.catalog().databases()) {
      for (const auto& collection : store_.catalog().collections(db)) {
        total_ += records_of(*collection);
        collections_.push_back(collection);
      }
    }
    for (const auto& collection : collections_) check_collection(collection);
    check_other_tables();
    std::sort(report_.collections.begin(), report_.collections.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
    return std::move(report_);
  }

 private:
  // 0: what the collection shows is damaged.
  static int64_t records_of(const Collection& collection) {
    return base::guarded([&] { return std::max<int64_t>(0, collection.record_count()); });
  }

  void check_collection(const std::shared_ptr<Collection>& collection) {
    int64_t calls = 0;
    const auto between = [&] {
      if (++calls % 256 == 0) show(report_.documents + std::min(calls, records_of(*collection)));
    };
    CheckedCollection checked{.ns = collection->ns(), .report = {}, .damaged = {}};
    checked.report = validate_collection(store_, collection, true, between);
    if (checked.report.corrupt_records > 0)
      checked.damaged = corrupt_records(store_.engine(), *collection, damaged_max, [&] { show(report_.documents); });
    report_.documents += checked.report.records;
    show(report_.documents);
    report_.collections.push_back(std::move(checked));
    for (const std::string& table : store_table_names(collection->id())) validated_.insert(table);
  }

  // Checks the catalog, the log, and the tables of branches and snapshots.
  void check_other_tables() {
    Tables& tables = store_.engine().internals().tables;
    for (const std::string& table : store_.engine().table_names()) {
      if (validated_.contains(table) || table.starts_with("index-")) continue;
      show(report_.documents);
      bool busy = false;
      std::string problem = tables.verify(table, busy);
      if (busy) problem = read_through(table);
      if (!problem.empty()) report_.tables.push_back({table, problem});
    }
  }

  // WiredTiger verifies no table that somebody has a cursor on, as the catalog has. It can be read.
  std::string read_through(const std::string& table) {
    try {
      Transaction transaction(store_, Transaction::Mode::read);
      TableCursor cursor = Table(table).cursor(transaction);
      while (cursor.next()) {
      }
      return "";
    } catch (const OperationError& damage) {
      if (damage.code() != ErrorCode::data_corruption_detected) throw;
      return damage.what();
    }
  }

  void show(int64_t done) const {
    if (request_.progress) request_.progress(std::min(done, total_), total_);
  }

  Store& store_;
  const CheckRequest& request_;
  std::vector<std::shared_ptr<Collection>> collections_;
  std::set<std::string> validated_;  // tables
  int64_t total_ = 0;
  CheckReport report_;
};

}  // namespace

OfflineHold::OfflineHold(const std::string& directory) {
  if (!fs::exists(fs::path(directory) / directory_file))
    throw OperationError(ErrorCode::no_such_key, directory + " is no data directory: it has no " + directory_file);
  const std::string path = (fs::path(directory) / lock_file).string();
  lock_.emplace(path, OpenFileLock::Kind::shared);
  if (lock_->error() != 0)
    throw OperationError(ErrorCode::internal_error, "cannot open " + path + ": " + std::strerror(lock_->error()));
  if (!lock_->held()) throw OperationError(in_use, "a server runs on " + directory + ": stop it first, or check a backup of it");
}

bool CheckReport::sound() const {
  return tables.empty() && std::all_of(collections.begin(), collections.end(), [](const auto& one) { return one.report.valid; });
}

CheckReport check_directory(const CheckRequest& request) {
  link_directory(request.directory, request.scratch);
  const OverlayFiles files(request.scratch);
  StoreOptions options(request.clock);
  options.path = request.scratch;
  options.cache_bytes = request.cache_bytes;
  options.checkpoint_seconds = never_seconds;
  options.encryption = request.encryption;
  options.dedup.enabled = false;
  Store store(options);
  const std::shared_ptr<void> layers = request.open_layers ? request.open_layers(store) : nullptr;
  return Check(store, request).run();
}

}  // namespace storage
