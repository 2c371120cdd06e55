#include "storage/engine/tables.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/descriptors.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/engine/engine.h"
#include "storage/engine/essential_writes.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/verification.h"

namespace storage {
namespace {

constexpr std::string_view prefix = "table:";
constexpr std::string_view columns_prefix = "colgroup:";

constexpr int compact_tries = 200;
constexpr std::chrono::milliseconds compact_pause(50);

constexpr std::string_view mark_always = "app_metadata=\"journal=always\"";

// Rows that can be read are copied to a table of this name, which then takes the damaged one's.
constexpr std::string_view copy_prefix = "readable-";
constexpr size_t copy_batch = 100;
constexpr int log_not_salvaged = 7200504;
constexpr int log_not_forgotten = 7200521;

bool can_be_opened(Engine& engine, const std::string& name) {
  try {
    const ReadableRows rows(engine, Table(name));
    return true;
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw;
    return false;
  }
}

// Returns how many rows there are.
int64_t copy_rows(Engine& engine, ReadableRows& from, const std::string& into) {
  const Table to(into);
  int64_t copied = 0;
  for (std::vector<std::pair<Bytes, Bytes>> some;; some.clear()) {
    while (some.size() < copy_batch && from.next()) some.emplace_back(from.key(), from.value());
    if (some.empty()) return copied;
    in_transaction(engine, [&](Transaction& transaction) {
      for (const auto& [key, value] : some) to.put(transaction, key, value);
    });
    copied += static_cast<int64_t>(some.size());
  }
}

std::string_view journal_setting(bool journaled) {
  return journaled ? "log=(enabled=true)" : "log=(enabled=false)";
}

std::string configuration(const TableOptions& options, bool journaled) {
  std::string config = "key_format=u,value_format=u,leaf_value_max=64MB,";
  config += journal_setting(journaled || options.always_journaled);
  if (options.always_journaled) config.append(",").append(mark_always);
  config += ",memory_page_max=" + std::to_string(options.memory_page_bytes);
  config += ",leaf_page_max=" + std::to_string(options.leaf_page_bytes);
  config += ",allocation_size=" + std::to_string(options.allocation_bytes);
  if (options.allocation_bytes < 4096) config += ",internal_page_max=4KB";
  if (options.page_image_bytes) config += ",memory_page_image_max=" + std::to_string(options.page_image_bytes);
  if (options.block_compressor != "none") config += ",block_compressor=" + options.block_compressor;
  if (options.prefix_compression) config += ",prefix_compression=true";
  return config;
}

}  // namespace

Tables::Tables(wt::Connection& connection, SessionPool& sessions, UnappliedRows& unapplied, bool journaled)
    : connection_(connection),
      sessions_(sessions),
      unapplied_(unapplied),
      journaled_(journaled),
      session_(connection.open_session()) {
  load();
  finish_replacements();
  drop_copies_alone();
  unapplied_.forget_others(names_);
  thread_ = std::thread([this] { run(); });
}

Tables::~Tables() {
  stop();
}

void Tables::load() {
  std::vector<std::string> to_alter;
  std::set<std::string, std::less<>> whole;
  {
    const wt::Cursor metadata = wt::open_cursor(session_.get(), "metadata:");
    int result = 0;
    while ((result = metadata->next(metadata.get())) == 0) {
      const char* key = nullptr;
      const char* value = nullptr;
      wt::check(metadata->get_key(metadata.get(), &key), "reading the metadata");
      wt::check(metadata->get_value(metadata.get(), &value), "reading the metadata");
      const std::string_view name = key, settings = value;
      if (name.starts_with(prefix)) names_.emplace(name.substr(prefix.size()));
      if (name.starts_with(columns_prefix)) whole.emplace(name.substr(columns_prefix.size()));
      if (!name.starts_with("file:") || !name.ends_with(".wt") || name.starts_with("file:WiredTiger")) continue;
      const bool now = settings.find(journal_setting(true)) != settings.npos;
      const bool wanted = journaled_ || settings.find(mark_always) != settings.npos;
      if (now != wanted) to_alter.emplace_back(name.substr(5, name.size() - 5 - 3));
    }
    if (result != WT_NOTFOUND) wt::fail(result, "reading the metadata");
  }
  // A crash while a table was being created leaves a part of it that nobody has written to.
  for (auto name = names_.begin(); name != names_.end();) {
    if (whole.contains(*name)) {
      ++name;
      continue;
    }
    const std::string uri = std::string(prefix) + *name;
    wt::check(session_->drop(session_.get(), uri.c_str(), nullptr), "dropping the half-made table " + *name);
    base::log(base::Severity::info, base::LogComponent::storage, 22447,
              "A table was half made when the process ended; it is gone", base::Attributes().add("table", *name));
    name = names_.erase(name);
  }
  if (to_alter.empty()) return;
  base::log(base::Severity::info, base::LogComponent::storage, 22446, "Tables change the way their commits survive",
            base::Attributes().add("tables", static_cast<int64_t>(to_alter.size())).add("journaled", journaled_));
  for (const std::string& name : to_alter) {
    const std::string uri = std::string(prefix) + name;
    wt::check(session_->alter(session_.get(), uri.c_str(), std::string(journal_setting(journaled_)).c_str()),
              "altering table " + name);
  }
}

namespace {

bool has_metadata(WT_SESSION* session, const std::string& uri) {
  const wt::Cursor metadata = wt::open_cursor(session, "metadata:");
  metadata->set_key(metadata.get(), uri.c_str());
  const int result = metadata->search(metadata.get());
  if (result != WT_NOTFOUND) wt::check(result, "reading the metadata");
  return result == 0;
}

}  // namespace

// A crash may leave a copy beside the table, or in its place.
void Tables::finish_replacements() {
  const std::set<std::string> names = names_;
  for (const std::string& name : names) {
    if (!name.starts_with(copy_prefix)) continue;
    const std::string of = name.substr(copy_prefix.size());
    if (names.contains(of)) {
      const std::string uri = std::string(prefix) + name;
      wt::check(session_->drop(session_.get(), uri.c_str(), "force=true"), "dropping the copy " + name);
    } else {
      rename(session_.get(), name, of);
      names_.insert(of);
    }
    names_.erase(name);
  }
}

// A crash may come between the drops of a table and of its copy.
void Tables::drop_copies_alone() {
  for (auto name = names_.begin(); name != names_.end();) {
    const bool alone = name->ends_with(copy_suffix) && !is_copy(*name);
    if (alone) {
      const std::string uri = std::string(prefix) + *name;
      wt::check(session_->drop(session_.get(), uri.c_str(), "force=true"), "dropping the copy " + *name);
    }
    name = alone ? names_.erase(name) : std::next(name);
  }
}

bool Tables::is_copy(const std::string& name) const {
  return name.ends_with(copy_suffix) && names_.contains(name.substr(0, name.size() - copy_suffix.size()));
}

// No table is called `to`. Its file may be there nevertheless, alone or with its own row in the metadata: a crash, or a full
// disk, came between these and the table's row, and WiredTiger refuses to rename onto them. If it came in the midst of this
// renaming, that is the file of `from`, and gets its name back first.
void Tables::rename(WT_SESSION* session, const std::string& from, const std::string& to) {
  WT_CONNECTION* connection = connection_.get();
  const std::string left = "file:" + to + ".wt", own = "file:" + from + ".wt";
  if (has_metadata(session, left)) {
    if (has_metadata(session, own))
      wt::check(session->drop(session, left.c_str(), "force=true"), "dropping what is left of table " + to);
    else
      wt::check(session->rename(session, left.c_str(), own.c_str(), nullptr), "renaming what is left of table " + to);
  }
  std::filesystem::remove(std::filesystem::path(connection->get_home(connection)) / (to + ".wt"));
  const std::string old_uri = std::string(prefix) + from, new_uri = std::string(prefix) + to;
  for (;;) {
    const int result = session->rename(session, old_uri.c_str(), new_uri.c_str(), nullptr);
    if (result != EBUSY) return wt::check(result, "renaming table " + from);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Tables::make_empty(const std::string& name) {
  drop_alone(name);
  unapplied_.forget(name);
  const base::MutexLock lock(mutex_);
  const std::string uri = std::string(prefix) + name;
  wt::check(session_->create(session_.get(), uri.c_str(), settings_.at(name).c_str()), "creating table " + name);
  names_.insert(name);
}

void Tables::begin_replacement(WT_SESSION* session, const std::string& name) {
  const base::MutexLock lock(mutex_);
  const std::string uri = std::string(prefix) + std::string(copy_prefix) + name;
  session->drop(session, uri.c_str(), "force=true");  // an earlier replacement may have failed
  wt::check(session->create(session, uri.c_str(), settings_.at(name).c_str()), "creating a table to replace " + name);
}

void Tables::end_replacement(Engine& engine, WT_SESSION* session, const std::string& name) {
  const std::string replacement = std::string(copy_prefix) + name;
  engine.checkpoint();
  drop_alone(name);
  sessions_.forget_table(replacement);
  rename(session, replacement, name);
  connection_.damaged_pages().forget(name);
  {
    const base::MutexLock lock(mutex_);
    names_.insert(name);
  }
  // The new table has the rows. A crash before this does no harm: nobody has written to the table, and the next start puts the
  // same rows into it again.
  unapplied_.forget(name);
}

void Tables::replace_rows(Engine& engine, const std::string& name, const std::string& by) {
  const wt::Session session = connection_.open_session();
  begin_replacement(session.get(), name);
  {
    ReadableRows rows(engine, Table(by));
    copy_rows(engine, rows, std::string(copy_prefix) + name);
  }
  end_replacement(engine, session.get(), name);
}

void Tables::replace_rows(Engine& engine, const std::string& name, const RowList& rows) {
  const wt::Session session = connection_.open_session();
  begin_replacement(session.get(), name);
  const Table to(std::string(copy_prefix) + name);
  for (size_t first = 0; first < rows.size(); first += copy_batch) {
    in_transaction(engine, [&](Transaction& transaction) {
      for (size_t i = first; i < std::min(first + copy_batch, rows.size()); ++i)
        to.put(transaction, rows[i].first, rows[i].second);
    });
  }
  end_replacement(engine, session.get(), name);
}

Tables::Kept Tables::keep_readable(Engine& engine, const std::string& name, const Fill& fill) {
  const wt::Session session = connection_.open_session();
  begin_replacement(session.get(), name);
  const UnappliedRows::Unblocked unblocked(unapplied_, name);
  Kept kept{.salvaged = !can_be_opened(engine, name)};
  if (kept.salvaged) {
    sessions_.forget_table(name);
    const int result = session->salvage(session.get(), (std::string(prefix) + name).c_str(), "force=true");
    if (result != 0) {
      base::log(base::Severity::error, base::LogComponent::storage, log_not_salvaged, "A table could not be salvaged",
                base::Attributes().add("table", name).add("error", wiredtiger_strerror(result)));
    }
  }
  const bool readable = !kept.salvaged || can_be_opened(engine, name);
  const std::string replacement = std::string(copy_prefix) + name;
  if (readable) {
    ReadableRows rows(engine, Table(name));
    kept.rows = copy_rows(engine, rows, replacement);
    kept.holes = rows.all_holes();
  }
  if (kept.salvaged) kept.holes = {{{}, std::nullopt}};
  // Nobody could write to these rows, so they are newer than what the file has, if that can be read.
  for (const auto& [key, value] : unapplied_.of(name)) {
    bool there = false;
    in_transaction(engine, [&, &key = key, &value = value](Transaction& transaction) {
      const Table to(replacement);
      there = to.get(transaction, key).has_value();
      if (value)
        to.put(transaction, key, *value);
      else
        to.remove(transaction, key);
    });
    kept.rows += static_cast<int64_t>(value.has_value()) - static_cast<int64_t>(there);
    kept.from_journal += static_cast<int64_t>(value.has_value());
  }
  if (fill) fill(Table(replacement), kept);
  end_replacement(engine, session.get(), name);
  return kept;
}

void Tables::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (!thread_.joinable()) return;
  thread_.join();
  // By now the last readers may have left. A table that still stays is found as an orphan at the next start.
  std::deque<std::string> work;
  {
    const base::MutexLock lock(mutex_);
    work.swap(dropping_);
  }
  const wt::Session session = connection_.open_session();
  for (const std::string& name : work) drop_unused(session.get(), name);
}

void Tables::describe(const std::string& name, const TableOptions& options) {
  const base::MutexLock lock(mutex_);
  settings_[name] = configuration(options, journaled_);
}

Table Tables::open(const std::string& name, const TableOptions& options) {
  const base::MutexLock lock(mutex_);
  settings_[name] = configuration(options, journaled_);
  if (!names_.contains(name)) {
    // WiredTiger can't take back a table of which it has made a half.
    if (base::descriptors_are_short()) wt::fail(EMFILE, "creating table " + name);
    const std::string uri = std::string(prefix) + name;
    wt::check(session_->create(session_.get(), uri.c_str(), settings_[name].c_str()), "creating table " + name);
    names_.insert(name);
  }
  return Table(name);
}

std::vector<std::string> Tables::names() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const std::string& name : names_) {
    if (!is_copy(name)) names.push_back(name);
  }
  return names;
}

bool Tables::exists(const std::string& name) const {
  const base::MutexLock lock(mutex_);
  return names_.contains(name);
}

void Tables::drop(const std::string& name, uint64_t gone_in) {
  leave(name, gone_in);
  leave(copy_name(name), gone_in);
}

void Tables::leave(const std::string& name, uint64_t gone_in) {
  {
    const base::MutexLock lock(mutex_);
    if (names_.erase(name) == 0) return;
  }
  sessions_.forget_table(name);
  {
    const base::MutexLock lock(mutex_);
    if (gone_in != 0)
      leaving_.push_back({gone_in, name});
    else
      dropping_.push_back(name);
  }
  woken_.notify_one();
}

void Tables::checkpointed(uint64_t commit) {
  {
    const base::MutexLock lock(mutex_);
    while (!leaving_.empty() && leaving_.front().gone_in <= commit) {
      dropping_.push_back(std::move(leaving_.front().name));
      leaving_.pop_front();
    }
  }
  woken_.notify_one();
}

void Tables::drop_now(const std::string& name) {
  for (const std::string& each : {name, copy_name(name)}) {
    if (each != name && !exists(each)) continue;
    drop_alone(each);
    unapplied_.forget(each);
  }
}

void Tables::drop_alone(const std::string& name) {
  {
    const base::MutexLock lock(mutex_);
    names_.erase(name);
  }
  sessions_.forget_table(name);
  connection_.damaged_pages().forget(name);
  const wt::Session session = connection_.open_session();
  while (!try_drop(session.get(), name)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

bool Tables::try_drop(WT_SESSION* session, const std::string& name) {
  const int result =
      session->drop(session, (std::string(prefix) + name).c_str(), "force=true,checkpoint_wait=false,lock_wait=false");
  if (result == EBUSY) return false;
  if (result != 0) {
    base::log(base::Severity::warning, base::LogComponent::storage, 22440,
              "A dropped table could not be removed; the next start tries again",
              base::Attributes().add("table", name).add("error", wiredtiger_strerror(result)));
  } else if (gone_) {
    gone_(name);
  }
  return true;
}

bool Tables::drop_unused(WT_SESSION* session, const std::string& name) {
  if (!try_drop(session, name)) return false;
  try {
    unapplied_.forget(name);
  } catch (const base::OperationError& error) {
    base::log(base::Severity::warning, base::LogComponent::storage, log_not_forgotten,
              "The rows of the journal for a dropped table could not be removed from their file; the next start tries again",
              base::Attributes().add("table", name).add("error", error.what()));
  }
  return true;
}

void Tables::run() {
  base::LogContext context("TableDrops");
  const wt::Session session = connection_.open_session();
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    if (dropping_.empty()) {
      woken_.wait(lock);
      continue;
    }
    std::deque<std::string> work;
    work.swap(dropping_);
    lock.unlock();
    std::deque<std::string> busy;
    for (std::string& name : work) {
      if (!drop_unused(session.get(), name)) busy.push_back(std::move(name));
    }
    lock.lock();
    for (std::string& name : busy) dropping_.push_back(std::move(name));
    if (!busy.empty()) woken_.wait_for(lock, std::chrono::milliseconds(100), [this]() REQUIRES(mutex_) { return stopping_; });
  }
}

int64_t Tables::statistic(const std::string& name, int key, const char* depth) const {
  const wt::Session session = connection_.open_session();
  WT_CURSOR* raw = nullptr;
  if (session->open_cursor(session.get(), ("statistics:table:" + name).c_str(), nullptr, depth, &raw) != 0) {
    wt::take_last_message();
    return 0;
  }
  const wt::Cursor cursor(raw);
  cursor->set_key(cursor.get(), key);
  const char* description = nullptr;
  const char* printed = nullptr;
  int64_t value = 0;
  if (cursor->search(cursor.get()) != 0 || cursor->get_value(cursor.get(), &description, &printed, &value) != 0) return 0;
  return value;
}

int64_t Tables::file_bytes(const std::string& name) const {
  return statistic(name, WT_STAT_DSRC_BLOCK_SIZE, "statistics=(size)");
}

int64_t Tables::reusable_bytes(const std::string& name) const {
  return statistic(name, WT_STAT_DSRC_BLOCK_REUSE_BYTES, "statistics=(fast)");
}

void Tables::compact(const std::string& name) {
  if (!exists(name)) return;
  const wt::Session session = connection_.open_session();
  const EssentialWrites essential;  // it takes checkpoints
  const auto compact = [&] {
    return session->compact(session.get(), (std::string(prefix) + name).c_str(), "timeout=0,free_space_target=1MB");
  };
  int result = compact();
  // Another thread may just compact the table: a client, the background, or the reclaimer.
  for (int tries = 0; result == EBUSY && tries < compact_tries; ++tries) {
    std::this_thread::sleep_for(compact_pause);
    result = compact();
  }
  if (result != 0 && !exists(name)) {
    wt::take_last_message();
    return;  // it was dropped meanwhile, so all its space is given back
  }
  if (result == EBUSY || result == WT_ROLLBACK) {
    throw base::OperationError(base::ErrorCode::interrupted, "Compaction interrupted: the cache is under pressure; try again");
  }
  wt::check(result, "compacting table " + name);
}

std::string Tables::verify(const std::string& name, bool& busy, const std::function<void()>& interrupted) {
  sessions_.forget_table(name);
  const wt::Session session = connection_.open_session();
  wt::take_last_message();
  const int result = [&] {
    wt::Verification verification(interrupted);
    const int verified = session->verify(session.get(), (std::string(prefix) + name).c_str(), nullptr);
    verification.rethrow();
    return verified;
  }();
  busy = result == EBUSY;
  if (result == 0 && unapplied_.blocks(name, std::nullopt, std::nullopt))
    return "the journal's changes of rows wait for a repair";
  if (result == 0 || busy) return {};
  std::string message = wt::take_last_message();
  return message.empty() ? wiredtiger_strerror(result) : message;
}

}  // namespace storage
