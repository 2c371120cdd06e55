#include "replication/logged_change.h"

#include <limits>
#include <optional>

#include "base/hash.h"
#include "replication/named_contents.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace replication {

using storage::Stamp;
using storage::TableCursor;
using storage::Transaction;

namespace {

constexpr size_t rows_between_checks = 256;
const base::Interrupted nobody;

bool is_of_users(std::string_view db) {
  return db != "admin" && db != "config" && db != "local" && db.find('@') == std::string_view::npos;
}

// Reads rows one after the other, and knows the transaction that it is in.
class Rows {
 public:
  Rows(storage::Store& store, Oplog& oplog, const base::Interrupted& interrupted = nobody, LoggedTransaction* in = nullptr)
      : oplog_(oplog),
        transaction_(store, Transaction::Mode::read),
        rows_(oplog.rows(transaction_)),
        contents_(store, [&oplog](Stamp stamp) { return oplog.row(stamp); }),
        in_(in ? *in : own_),
        interrupted_(interrupted) {}

  Stamp visible_below() const { return transaction_.visible_below(); }
  bool seek(Stamp stamp) { return rows_.seek(entry_key(stamp)); }
  // A set's log begins with its first configuration. As long as that is there, nothing was ever cut.
  bool reaches(Stamp time) {
    if (time > 0 && rows_.seek_back(entry_key(time)) && stamp() > 0) return true;
    if (!seek(1) || stamp() <= time + 1) return true;
    const Entry first = decode(value()).or_throw();
    const auto config = first.op == 'n' ? first.o["config"] : bson::Element();
    if (!config.is_object()) return false;
    const auto term = config.as_document()["term"], version = config.as_document()["version"];
    return term.is_number() && term.to_int64() == 1 && version.is_number() && version.to_int64() == 1;
  }
  bool next() { return rows_.next(); }
  // Throws what `interrupted` throws. It is called for each row that is looked at.
  void check() {
    if (++looked_ % rows_between_checks == 0 && interrupted_) interrupted_();
  }
  Stamp stamp() const { return stamp_from_key(rows_.key()); }
  BytesView value() const { return rows_.value(); }

  // Returns the change of the row that the cursor stands on; nullptr: its content is gone, or the log was cut within its
  // transaction.
  std::shared_ptr<LoggedChange> change(const Entry& entry, const LogSubject& subject) {
    auto change = std::make_shared<LoggedChange>();
    change->row = change->time = stamp();
    if (entry.in_transaction) {
      if (!enter(change->row - entry.behind_first)) return nullptr;
      change->time = in_.last;
      change->index = place_of(change->row);
      change->session = in_.session;
      change->txn_number = in_.number;
    }
    change->subject = subject;
    change->value = Bytes(value());
    change->entry = decode(change->value).or_throw();
    if (entry.form == Entry::Form::named && !read_content(*change)) return nullptr;
    return change;
  }

 private:
  // The last row of a client's transaction has the session.
  bool enter(Stamp first) {
    if (in_.first == first) return in_.whole;
    LoggedTransaction found;
    found.first = first;
    TableCursor rows = oplog_.rows(transaction_);
    bool on = rows.seek(entry_key(first)) && stamp_from_key(rows.key()) == first;
    while (on && !found.whole) {
      check();
      const Entry entry = decode(rows.value()).or_throw();
      found.last = stamp_from_key(rows.key());
      if (!entry.in_transaction || found.last - entry.behind_first != first) break;
      if (entry.session) {
        found.session = Bytes(entry.session->session);
        found.number = entry.session->txn_number;
        found.whole = true;
      }
      on = rows.next();
    }
    in_ = std::move(found);
    return in_.whole;
  }

  int64_t place_of(Stamp row) {
    if (in_.counted >= row) in_.counted = 0, in_.place = -1;
    TableCursor rows = oplog_.rows(transaction_);
    bool on = rows.seek(entry_key(in_.counted == 0 ? in_.first : in_.counted + 1));
    for (; on && stamp_from_key(rows.key()) <= row; on = rows.next()) {
      check();
      in_.counted = stamp_from_key(rows.key());
      ++in_.place;
    }
    return in_.place;
  }

  bool read_content(LoggedChange& change) {
    try {
      const auto whole = contents_.whole(transaction_, change.row, change.entry, change.content);
      if (!whole) return false;
      change.entry = *whole;
      return true;
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::capped_position_lost) throw;
      history_lost();
    }
  }

  Oplog& oplog_;
  Transaction transaction_;
  TableCursor rows_;
  NamedContents contents_;
  LoggedTransaction own_;
  LoggedTransaction& in_;
  const base::Interrupted& interrupted_;
  size_t looked_ = 0;
};

}  // namespace

LoggedChange::~LoggedChange() {
  for (const KeptDocument& one : shown_) {
    if (const bson::Document* const kept = one.get()) memory->give_back(kept->size());
  }
}

const bson::Document* LoggedChange::show(size_t place, bson::Document& made) const {
  const size_t bytes = made.size();
  if (!memory || !memory->take_if_room(bytes)) return nullptr;
  auto own = std::make_unique<const bson::Document>(std::move(made));
  const bson::Document* const kept = shown_[place].keep(own);
  if (own) memory->give_back(bytes);
  return kept;
}

LogSubject subject_of(const Entry& entry) {
  const std::string_view db = storage::database_of(entry.ns);
  LogSubject subject;
  subject.ns = base::hash64(entry.ns);
  subject.db = base::hash64(db);
  subject.command = entry.op == 'c';
  subject.is_public = is_of_users(db);
  if (!subject.command || entry.form != Entry::Form::whole) return subject;
  const auto to = entry.o.find("to");
  if (entry.o.empty() || entry.o.first().name != "renameCollection" || !to.is_string()) return subject;
  subject.other_db = base::hash64(storage::database_of(to.as_string()));
  return subject;
}

LogScope::LogScope(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {
  if (kind_ == Kind::deployment) return;
  const std::string db(kind_ == Kind::database ? std::string_view(name_) : storage::database_of(name_));
  db_ = base::hash64(db);
  home_ = base::hash64(std::string_view(db).substr(0, db.find('@')));
  if (kind_ == Kind::collection) ns_ = base::hash64(name_);
}

bool LogScope::has(const LogSubject& subject) const {
  if (kind_ == Kind::deployment) return subject.is_public;
  if (subject.command) return subject.db == home_ || subject.db == db_ || subject.other_db == db_;
  return kind_ == Kind::database ? subject.db == db_ : subject.ns == ns_;
}

LoggedChanges read_changes(storage::Store& store, Oplog& oplog, Stamp after, Stamp upto, const WantedChange& wanted,
                           size_t bytes_max, size_t rows_max, const base::Interrupted& interrupted,
                           const std::shared_ptr<ChangeMemory>& memory, LoggedTransaction* in) {
  LoggedChanges out;
  out.read_to = after;
  Rows rows(store, oplog, interrupted, in);
  if (!rows.reaches(after)) history_lost();
  upto = std::min(upto, rows.visible_below() - 1);
  size_t bytes = 0, looked = 0;
  for (bool on = rows.seek(after + 1); on && rows.stamp() <= upto; on = rows.next()) {
    if (bytes >= bytes_max || looked == rows_max) return out;
    ++looked;
    rows.check();
    const Entry entry = decode(rows.value()).or_throw();
    out.read_to = rows.stamp();
    if (entry.op == 'n') continue;
    const LogSubject subject = subject_of(entry);
    if (!wanted(subject)) continue;
    if (auto change = rows.change(entry, subject)) {
      bytes += change->bytes();
      change->memory = memory;
      out.changes.push_back(std::move(change));
    }
  }
  out.read_to = std::max(out.read_to, upto);
  return out;
}

LoggedChangePtr find_change(storage::Store& store, Oplog& oplog, Stamp time, int64_t index,
                            const base::Interrupted& interrupted) {
  Rows rows(store, oplog, interrupted);
  if (time >= rows.visible_below() || !rows.seek(time) || rows.stamp() != time) return nullptr;
  Entry entry = decode(rows.value()).or_throw();
  if (entry.in_transaction) {
    const Stamp first = time - entry.behind_first;
    bool on = rows.seek(first);
    for (int64_t place = 0; on && place < index && rows.stamp() < time; ++place) {
      rows.check();
      on = rows.next();
    }
    if (!on) return nullptr;
    entry = decode(rows.value()).or_throw();
  }
  if (entry.op == 'n') return nullptr;
  auto change = rows.change(entry, subject_of(entry));
  return change && change->time == time && change->index == index ? change : nullptr;
}

Stamp row_before(storage::Store& store, Oplog& oplog, Stamp time) {
  Rows rows(store, oplog);
  const Stamp before = time == 0 ? 0 : time - 1;
  if (!rows.seek(std::max<Stamp>(time, 1))) return before;
  const Entry entry = decode(rows.value()).or_throw();
  return entry.in_transaction ? std::min(before, rows.stamp() - entry.behind_first - 1) : before;
}

Stamp oldest_row(storage::Store& store, Oplog& oplog) {
  Rows rows(store, oplog);
  return rows.seek(1) ? rows.stamp() : 0;
}

bool log_reaches(storage::Store& store, Oplog& oplog, Stamp time) {
  return Rows(store, oplog).reaches(time);
}

void history_lost() {
  throw base::OperationError(base::ErrorCode::change_stream_history_lost,
                             "Resume of change stream was not possible, as the resume point may no longer be in the oplog.");
}

}  // namespace replication
