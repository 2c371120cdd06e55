#include "storage/engine/table.h"

#include "storage/engine/internals.h"
#include "storage/engine/replayed_writes.h"
#include "storage/engine/session.h"

namespace storage {
namespace {

[[noreturn]] void failed(Transaction& transaction, int result, const char* doing, const std::string& table) {
  if (result == WT_ROLLBACK) transaction.engine().internals().conflict(transaction.session());
  fail_on_table(transaction.session(), result, doing, table);
}

// Throws what interrupted the operation while the engine let it wait. The transaction may have been in the midst of a write.
void check_wait(Transaction& transaction) {
  if (!wait_was_interrupted) [[likely]]
    return;
  transaction.session().interruption = take_interruption();
  std::rethrow_exception(transaction.session().interruption);
}

[[noreturn]] void fail_unapplied(Transaction& transaction, const char* doing, const std::string& table) {
  wt::set_last_message("the journal's changes of these rows wait for a repair");
  fail_on_table(transaction.session(), WT_ERROR, doing, table);
}

// Throws if the journal has something newer for the row than its page, which a start could not read.
void check_applied(Transaction& transaction, const char* doing, const std::string& table, BytesView key) {
  const UnappliedRows& unapplied = transaction.engine().internals().unapplied;
  if (unapplied.any() && unapplied.blocks(table, key)) [[unlikely]]
    fail_unapplied(transaction, doing, table);
}

constexpr size_t small_row_bytes = 512;  // the rows that every delete and drop writes are smaller

void count_bytes(Transaction& transaction, size_t bytes) {
  DiskSpace& space = transaction.engine().internals().space;
  transaction.session().written_bytes += bytes;
  if (!ReplayedWrites::here() && !transaction.is_draft()) {  // the log's journal has the ones, and nobody commits the others
    transaction.session().unjournaled_bytes += bytes;
    space.add_unjournaled(static_cast<int64_t>(bytes));
  }
  space.wrote(bytes);
  space.require(bytes > small_row_bytes ? DiskUse::change : DiskUse::release);
}

}  // namespace

std::optional<Table> Table::copy() const {
  return copy_.empty() ? std::nullopt : std::optional<Table>(copy_);
}

std::optional<BytesView> Table::get(Transaction& transaction, BytesView key) const {
  check_applied(transaction, "reading", name_, key);
  WT_CURSOR* cursor = transaction.session().strict(name_);
  wt::set_key(cursor, key);
  const int result = cursor->search(cursor);
  check_wait(transaction);
  if (result == WT_NOTFOUND) return std::nullopt;
  if (result != 0) failed(transaction, result, "reading", name_);
  return wt::get_value(cursor);
}

void Table::put(Transaction& transaction, BytesView key, BytesView value) const {
  base::check(transaction.writes(), "write in a read transaction");
  check_applied(transaction, "writing", name_, key);
  count_bytes(transaction, key.size() + value.size());
  WT_CURSOR* cursor = transaction.session().overwrite(name_);
  wt::set_key(cursor, key);
  wt::set_value(cursor, value);
  const int result = cursor->insert(cursor);
  check_wait(transaction);
  if (result != 0) failed(transaction, result, "writing", name_);
  if (const auto other = copy()) other->put(transaction, key, value);
}

bool Table::insert(Transaction& transaction, BytesView key, BytesView value) const {
  base::check(transaction.writes(), "write in a read transaction");
  check_applied(transaction, "writing", name_, key);
  count_bytes(transaction, key.size() + value.size());
  WT_CURSOR* cursor = transaction.session().strict(name_);
  wt::set_key(cursor, key);
  wt::set_value(cursor, value);
  const int result = cursor->insert(cursor);
  check_wait(transaction);
  if (result == WT_DUPLICATE_KEY) return false;
  if (result != 0) failed(transaction, result, "writing", name_);
  if (const auto other = copy()) other->insert(transaction, key, value);
  return true;
}

bool Table::remove(Transaction& transaction, BytesView key) const {
  base::check(transaction.writes(), "write in a read transaction");
  check_applied(transaction, "writing", name_, key);
  transaction.engine().internals().space.wrote(key.size());  // the journal grows, and old journal is what a full disk is full of
  WT_CURSOR* cursor = transaction.session().strict(name_);
  wt::set_key(cursor, key);
  const int result = cursor->remove(cursor);
  check_wait(transaction);
  if (result == WT_NOTFOUND) return false;
  if (result != 0) failed(transaction, result, "writing", name_);
  if (const auto other = copy()) other->remove(transaction, key);
  return true;
}

struct TableCursor::State {
  State(Transaction& of, const std::string& name) : transaction(of), table(name), unapplied(of.engine().internals().unapplied) {
    transaction.session().lend_walker(table, lent);
  }
  ~State() {
    if (lent.session) lent.session->take_back(lent);
  }

  Transaction& transaction;  // it is valid only while `lent` is
  const std::string table;
  LentCursor lent;
  const UnappliedRows& unapplied;
  bool passes_unapplied = false;

  WT_CURSOR* at() const {
    base::check(lent.session != nullptr, "cursor used after its transaction");
    return lent.cursor.get();
  }
  bool stands(int result) {
    lent.on_row = result == 0;
    check_wait(transaction);
    if (result == 0) return true;
    if (result != WT_NOTFOUND) failed(transaction, result, "reading", table);
    return false;
  }
  // Returns whether the cursor now stands on the row that was found at `key`. If the search ended on the other side of `key`, the
  // cursor takes a step in the wanted direction.
  bool search(BytesView key, int wanted) {
    WT_CURSOR* cursor = at();
    lent.parked.reset();
    wt::set_key(cursor, key);
    int exact = 0;
    if (!stands(cursor->search_near(cursor, &exact))) return false;
    if (wanted > 0 && exact < 0) return stands(cursor->next(cursor));
    if (wanted < 0 && exact > 0) return stands(cursor->prev(cursor));
    return true;
  }
  bool walk(int (*to)(WT_CURSOR*), int wanted) {
    if (!lent.parked) return stands(to(at()));
    const Bytes from = std::move(*lent.parked);
    if (!search(from, wanted)) return false;
    return wt::get_key(at()) == from ? stands(to(at())) : true;
  }
  bool seek(BytesView key, int wanted) {
    const bool found = search(key, wanted);
    if (checks()) [[unlikely]]
      check_passed(key, found, wanted);
    return found;
  }
  bool step(int (*to)(WT_CURSOR*), int wanted) {
    if (!checks()) [[likely]]
      return walk(to, wanted);
    at();
    std::optional<Bytes> from = lent.parked;
    if (lent.on_row) from.emplace(wt::get_key(at()));
    const bool found = walk(to, wanted);
    check_passed(from, found, wanted);
    return found;
  }
  bool checks() const { return unapplied.any() && !passes_unapplied; }
  // A row that waits to be applied may belong between the place where the cursor was and the row that it found.
  void check_passed(std::optional<BytesView> from, bool found, int wanted) const {
    const std::optional<BytesView> to = found ? std::optional(wt::get_key(at())) : std::nullopt;
    const bool blocked = wanted > 0 ? unapplied.blocks(table, from, to) : unapplied.blocks(table, to, from);
    if (blocked) fail_unapplied(transaction, "reading", table);
  }
  // Returns the engine's cursor, which stands on its row.
  WT_CURSOR* on_row() {
    if (!lent.parked) return at();
    const Bytes row = std::move(*lent.parked);
    base::check(search(row, +1) && wt::get_key(at()) == row, "the row a cursor let go of is there in its transaction");
    return at();
  }
};

void Table::truncate(Transaction& transaction, BytesView from, BytesView to) const {
  base::check(transaction.writes(), "write in a read transaction");
  Transaction::Session& session = transaction.session();
  transaction.engine().internals().space.wrote(from.size() + to.size());
  TableCursor first = cursor(transaction);
  TableCursor last = cursor(transaction);
  first.state_->passes_unapplied = last.state_->passes_unapplied = true;
  const bool any = first.seek(from) && last.seek_back(to) && first.key() <= last.key();
  UnappliedRows& unapplied = transaction.engine().internals().unapplied;
  if (unapplied.any()) unapplied.forget(name_, from, to);
  if (!any) return;
  const int result = session.session->truncate(session.session.get(), nullptr, first.raw(), last.raw(), nullptr);
  check_wait(transaction);
  if (result != 0) failed(transaction, result, "truncating", name_);
  if (const auto other = copy()) other->truncate(transaction, from, to);
}

TableCursor Table::cursor(Transaction& transaction) const {
  return TableCursor(std::make_unique<TableCursor::State>(transaction, name_));
}

TableCursor::TableCursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
TableCursor::TableCursor(TableCursor&&) noexcept = default;
TableCursor& TableCursor::operator=(TableCursor&&) noexcept = default;
TableCursor::~TableCursor() = default;

bool TableCursor::seek(BytesView key) {
  return state_->seek(key, +1);
}
bool TableCursor::seek_back(BytesView key) {
  return state_->seek(key, -1);
}
bool TableCursor::next() {
  return state_->step(state_->at()->next, +1);
}
bool TableCursor::previous() {
  return state_->step(state_->at()->prev, -1);
}
void TableCursor::reset() {
  state_->lent.on_row = false;
  state_->lent.parked.reset();
  state_->at()->reset(state_->at());
}
BytesView TableCursor::key() const {
  WT_CURSOR* const cursor = state_->at();
  return state_->lent.parked ? BytesView(*state_->lent.parked) : wt::get_key(cursor);
}
BytesView TableCursor::value() const {
  return wt::get_value(state_->on_row());
}
WT_CURSOR* TableCursor::raw() const {
  return state_->on_row();
}

// | bytes that follow, 1 | big-endian, without leading zeros |
void append_record_key(Bytes& out, RecordId id) {
  const auto number = static_cast<uint64_t>(id);
  const int bytes = number == 0 ? 0 : (71 - std::countl_zero(number)) / 8;
  out.push_back(static_cast<char>(bytes));
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

Bytes record_key(RecordId id) {
  Bytes key;
  append_record_key(key, id);
  return key;
}

RecordId record_from_key(BytesView key) {
  uint64_t number = 0;
  const size_t end = key.empty() ? 0 : std::min<size_t>(key.size(), 1 + static_cast<uint8_t>(key[0]));
  for (size_t i = 1; i < end; ++i) number = number << 8 | static_cast<uint8_t>(key[i]);
  return static_cast<RecordId>(number);
}

}  // namespace storage
