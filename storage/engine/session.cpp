#include "storage/engine/session.h"

#include "base/error.h"

namespace storage {

void fail_on_table(Transaction::Session& session, int result, const char* doing, const std::string& table) {
  const SessionPool& pool = session.pool;
  session.failure = result;
  std::string what = std::string(doing) + " table " + table;
  if (pool.table_owner) {
    if (const std::string owner = pool.table_owner(table); !owner.empty()) what += " of " + owner;
  }
  try {
    wt::fail(result, what);
  } catch (const base::OperationError& error) {
    DamagedPages& damaged = pool.connection().damaged_pages();
    if (error.code() == base::ErrorCode::data_corruption_detected && !damaged.any_in(table)) damaged.add({table, 0, 0});
    throw;
  }
}

wt::Cursor Transaction::Session::open(const std::string& table, const char* config) {
  WT_CURSOR* cursor = nullptr;
  const int result = session->open_cursor(session.get(), ("table:" + table).c_str(), nullptr, config, &cursor);
  if (result != 0) fail_on_table(*this, result, "opening", table);
  return wt::Cursor(cursor);
}

// Entries of the map stay at their addresses, and none is removed while a transaction is open.
Transaction::Session::TableCursors& Transaction::Session::touch(const std::string& table) {
  TableCursors& cursors = tables[table];
  if (!cursors.touched) {
    cursors.touched = true;
    touched_.push_back(&cursors);
  }
  return cursors;
}

void Transaction::Session::reset_cursors() {
  for (TableCursors* cursors : touched_) {
    if (cursors->strict) cursors->strict->reset(cursors->strict.get());
    if (cursors->overwrite) cursors->overwrite->reset(cursors->overwrite.get());
    cursors->touched = false;
  }
  touched_.clear();
}

void Transaction::Session::let_go_of_pages() {
  reset_cursors();
  for (const Lent& lent : lent_) {
    LentCursor& to = *lent.to;
    if (to.on_row) to.parked = wt::get_key(to.cursor.get());
    to.on_row = false;
    to.cursor->reset(to.cursor.get());
  }
}

WT_CURSOR* Transaction::Session::strict(const std::string& table) {
  TableCursors& cursors = touch(table);
  if (!cursors.strict) cursors.strict = open(table, "overwrite=false");
  return cursors.strict.get();
}

WT_CURSOR* Transaction::Session::overwrite(const std::string& table) {
  TableCursors& cursors = touch(table);
  if (!cursors.overwrite) cursors.overwrite = open(table);
  return cursors.overwrite.get();
}

void Transaction::Session::lend_walker(const std::string& table, LentCursor& to) {
  TableCursors& cursors = tables[table];
  if (cursors.walkers.empty()) {
    to.cursor = open(table);
  } else {
    to.cursor = std::move(cursors.walkers.back());
    cursors.walkers.pop_back();
  }
  to.session = this;
  lent_.push_back({&to, &cursors});
}

void Transaction::Session::take_back(LentCursor& lent) {
  // The cursor that was lent last is usually the first to come back.
  for (auto at = lent_.rbegin(); at != lent_.rend(); ++at) {
    if (at->to != &lent) continue;
    lent.cursor->reset(lent.cursor.get());
    at->from->walkers.push_back(std::move(lent.cursor));
    lent.session = nullptr;
    lent_.erase(std::next(at).base());
    return;
  }
}

void Transaction::Session::take_back_all() {
  while (!lent_.empty()) take_back(*lent_.back().to);
}

Transaction::Session* SessionPool::take() {
  const base::MutexLock lock(mutex_);
  if (idle_.empty()) {
    const auto slot = static_cast<uint32_t>(all_.size());
    all_.push_back(std::make_unique<Transaction::Session>(*this, waits_, slot));
    all_.back()->drops_seen = dropped_.size();
    idle_.reserve(all_.size());
    return all_.back().get();
  }
  Transaction::Session* session = idle_.back();
  idle_.pop_back();
  return session;
}

void SessionPool::let_go(Transaction::Session& session) {
  for (; session.drops_seen < dropped_.size(); ++session.drops_seen) session.close_cursors(dropped_[session.drops_seen]);
}

void SessionPool::give_back(Transaction::Session* session) {
  session->written_bytes = 0;
  session->reset_cursors();
  if (session->tables.size() > tables_max_.load(std::memory_order_relaxed)) session->tables.clear();
  const base::MutexLock lock(mutex_);
  let_go(*session);
  idle_.push_back(session);
}

void SessionPool::keep_few(bool few) {
  tables_max_.store(few ? few_tables_max : tables_max, std::memory_order_relaxed);
  if (!few) return;
  const base::MutexLock lock(mutex_);
  for (Transaction::Session* session : idle_) {
    if (session->tables.size() > few_tables_max) session->tables.clear();
  }
}

void SessionPool::forget_table(const std::string& table) {
  const base::MutexLock lock(mutex_);
  // When no session is busy, none has to learn of the drops later, and the list starts again.
  if (idle_.size() == all_.size()) {
    for (auto& session : all_) {
      let_go(*session);
      session->drops_seen = 0;
    }
    dropped_.clear();
  }
  dropped_.push_back(table);
  for (Transaction::Session* session : idle_) let_go(*session);
}

}  // namespace storage
