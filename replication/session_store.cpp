#include "replication/session_store.h"

#include <map>
#include <shared_mutex>

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/value.h"
#include "replication/committer.h"
#include "storage/collections/catalog.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;
using storage::Stamp;
using storage::Transaction;

namespace {

constexpr std::string_view records_ns = session_records_ns, images_ns = session_images_ns;
constexpr int64_t no_number = -1;
constexpr std::string_view committed_state = "committed";
constexpr auto wait_step = std::chrono::milliseconds(20);

// The records are rewritten all the time and never alike for long, so that dedup would gain nothing.
std::shared_ptr<storage::Collection> open_or_create(storage::Store& store, std::string_view ns) {
  if (auto collection = store.catalog().open(ns)) return collection;
  bson::Builder document;
  {
    auto dedup = document.object("dedup");
    dedup.append("enabled", false);
  }
  storage::CollectionOptions options;
  options.document = document.done();
  options.dedup = storage::read_dedup_options(options.document);
  try {
    return store.catalog().create(ns, options);
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::namespace_exists) throw;
    return store.catalog().open_or_create(ns);
  }
}

// The record has no history of its own: the log's entry of the write is its history. Its generation is that entry's timestamp, so
// it is the same on all members.
void put(Transaction& transaction, storage::Collection& collection, bson::DocumentView document, Stamp stamp) {
  transaction.set_next_stamp(stamp);
  const auto record = collection.find_id(transaction, document.find("_id"));
  const auto before = record ? collection.find(transaction, *record) : std::nullopt;
  if (before) {
    collection.update(transaction, *record, *before, document);
  } else {
    collection.insert(transaction, document);
  }
}

void put_record(Transaction& transaction, storage::Collection& records, const SessionWrite& write, OpTime last) {
  bson::Builder out;
  out.append("_id", lsid_document(write.session)).append("txnNum", write.txn_number);
  append_optime(out, "lastWriteOpTime", last);
  out.append("lastWriteDate", bson::Date{static_cast<int64_t>(last.ts >> 32) * 1000});
  if (write.part == SessionWrite::Part::transaction_end) out.append("state", committed_state);
  put(transaction, records, out.done(), last.ts);
}

void put_image(Transaction& transaction, storage::Collection& images, const SessionWrite& write, Stamp stamp,
               bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", lsid_document(write.session)).append("txnNum", write.txn_number).append("ts", timestamp_of(stamp));
  out.append("imageKind", write.image == SessionWrite::Image::before ? "preImage" : "postImage").append("image", document);
  out.append("invalidated", false);
  put(transaction, images, out.done(), stamp);
}

std::optional<bson::Document> get(storage::Store& store, std::string_view ns, BytesView session) {
  return storage::find_document(store, ns, bson::Value(lsid_document(session)));
}

// Returns the bytes of {id: UUID, uid: BinData}; they are empty for anything else.
Bytes session_of(bson::DocumentView lsid) {
  const auto id = lsid.find("id"), uid = lsid.find("uid");
  if (id.type() != bson::Type::binary || uid.type() != bson::Type::binary) return {};
  Bytes session(id.as_binary().bytes);
  session.append(uid.as_binary().bytes);
  return session.size() == SessionWrite::id_bytes ? session : Bytes();
}

}  // namespace

struct SessionHistory::State {
  explicit State(BytesView session) : id(session) {}

  const Bytes id;
  bool lent = false;    // with the store's mutex
  bool passed = false;  // likewise: another member went on with the session; the rest belongs to who has it
  bool loaded = false;
  bool incomplete = false;  // the log was cut before the first statement
  int64_t txn_number = no_number;
  OpTime last = no_optime;
  bool transaction = false;  // a client's transaction was committed under the number, and `last` is its end
  std::map<int32_t, Stamp> executed;
};

SessionHistory::SessionHistory(SessionStore& store, std::shared_ptr<State> state)
    : store_(store), state_(std::move(state)), last_(state_->last) {}

SessionHistory::~SessionHistory() {
  store_.give_back(*state_);
}

std::optional<Stamp> SessionHistory::executed(int32_t statement) const {
  const auto found = state_->executed.find(statement);
  if (found != state_->executed.end()) return found->second;
  if (state_->incomplete) {
    throw OperationError(ErrorCode::incomplete_transaction_history, "Incomplete history detected for transaction " +
                                                                        std::to_string(state_->txn_number) + " on session " +
                                                                        base::to_hex(BytesView(state_->id).substr(0, 16)));
  }
  return std::nullopt;
}

std::optional<OpTime> SessionHistory::committed_transaction() const {
  return state_->transaction ? std::optional(state_->last) : std::nullopt;
}

bool SessionHistory::has_statements() const {
  return !state_->executed.empty() || state_->incomplete;
}

void SessionHistory::begin() {
  last_ = state_->last;
  written_.clear();
  ended_transaction_ = false;
}

SessionWrite SessionHistory::next(int32_t statement, SessionWrite::Image image) const {
  return {state_->id, state_->txn_number, statement, last_, image};
}

void SessionHistory::wrote(int32_t statement, OpTime optime) {
  last_ = optime;
  written_.emplace_back(statement, optime.ts);
}

SessionWrite SessionHistory::transaction_part(bool last) const {
  SessionWrite write = next(0);
  write.part = last ? SessionWrite::Part::transaction_end : SessionWrite::Part::transaction;
  return write;
}

void SessionHistory::ended_transaction(OpTime last) {
  last_ = last;
  ended_transaction_ = true;
}

void SessionHistory::keep_image(Transaction& transaction, SessionWrite::Image image, bson::DocumentView document) {
  put_image(transaction, *images_, next(0, image), last_.ts, document);
}

void SessionHistory::save(Transaction& transaction) {
  if (written_.empty() && !ended_transaction_) return;
  store_.record_writes_.add();
  put_record(transaction, *records_, ended_transaction_ ? transaction_part(true) : next(0), last_);
  transaction.after_commit([state = state_, last = last_, written = written_, ended_transaction = ended_transaction_] {
    state->last = last;
    state->transaction = ended_transaction;
    for (const auto& [statement, stamp] : written) state->executed.emplace(statement, stamp);
  });
}

std::optional<bson::Document> SessionHistory::image(Stamp stamp) const {
  const auto kept = get(store_.store_, images_ns, state_->id);
  if (!kept || kept->find("ts").type() != bson::Type::timestamp || stamp_of(kept->find("ts").as_timestamp()) != stamp)
    return std::nullopt;
  return bson::Document(kept->find("image").as_document());
}

std::unique_ptr<SessionHistory> SessionStore::take(BytesView session, const std::function<void()>& interrupted) {
  std::shared_ptr<SessionHistory::State> state;
  {
    base::MutexLock lock(mutex_);
    for (;;) {
      auto& place = states_[Bytes(session)];
      if (!place) place = std::make_shared<SessionHistory::State>(session);
      if (!place->lent) {
        state = place;
        break;
      }
      given_back_.wait_for(lock, wait_step);
      lock.unlock();
      interrupted();
      lock.lock();
    }
    state->lent = true;
    if (std::exchange(state->passed, false)) state->loaded = false;
  }
  std::unique_ptr<SessionHistory> history(new SessionHistory(*this, state));  // gives it back whatever comes
  if (!state->loaded) load(*state);
  return history;
}

std::optional<OpTime> SessionStore::committed_transaction(BytesView session, int64_t txn_number,
                                                          const std::function<void()>& interrupted) {
  const auto history = take(session, interrupted);
  return history->state_->txn_number == txn_number ? history->committed_transaction() : std::nullopt;
}

bool SessionStore::begin_transaction(BytesView session, int64_t txn_number, const std::function<void()>& interrupted) {
  const auto history = advance(session, txn_number, interrupted);
  return !history->has_statements() && !history->committed_transaction();
}

std::unique_ptr<SessionHistory> SessionStore::advance(BytesView session, int64_t txn_number,
                                                      const std::function<void()>& interrupted) {
  auto history = take(session, interrupted);
  const std::shared_ptr<SessionHistory::State> state = history->state_;
  if (txn_number < state->txn_number) {
    throw OperationError(ErrorCode::transaction_too_old,
                         "Retryable write with txnNumber " + std::to_string(txn_number) + " is prohibited on session " +
                             base::to_hex(session.substr(0, 16)) + " because a newer retryable write with txnNumber " +
                             std::to_string(state->txn_number) + " has already started on this session.");
  }
  if (txn_number > state->txn_number) {
    state->txn_number = txn_number;
    state->last = no_optime;
    state->incomplete = false;
    state->transaction = false;
    state->executed.clear();
  }
  return history;
}

std::unique_ptr<SessionHistory> SessionStore::check_out(BytesView session, int64_t txn_number,
                                                        const std::function<void()>& interrupted) {
  auto history = advance(session, txn_number, interrupted);
  history->begin();
  const auto take = [&](std::string_view ns, std::shared_ptr<storage::Collection>& collection, base::SharedHold& schema) {
    do {
      schema = {};
      collection = open_or_create(store_, ns);
      schema = std::shared_lock(collection->schema_mutex());
    } while (collection->dropped());
  };
  take(records_ns, history->records_, history->schemas_[0]);
  take(images_ns, history->images_, history->schemas_[1]);
  return history;
}

// Back along the log from the newest write. The walk may end by an error, since it waits for the engine as any reader does and
// may be long; then the state isn't loaded, and nobody takes a part of the history for the whole.
void SessionStore::load(SessionHistory::State& state) {
  const auto read_back = [&] {
    const auto record = get(store_, records_ns, state.id);
    state.executed.clear();
    state.incomplete = false;
    state.transaction = false;
    state.last = no_optime;
    if (!record) return;
    state.txn_number = record->find("txnNum").to_int64();
    const auto last = record->find("lastWriteOpTime").as_document();
    state.last = {stamp_of(last["ts"].as_timestamp()), last["t"].to_int64()};
    const auto ended = record->find("state");
    state.transaction = ended.is_string() && ended.as_string() == committed_state;
    if (state.transaction) return;
    for (OpTime at = state.last; at.ts != 0;) {
      storage::ask_interrupted();
      const auto row = oplog_.row(at.ts);
      const auto entry = row ? decode(*row) : base::Result<Entry>(Entry());
      if (!entry.ok() || !entry.value().session || entry.value().session->session != BytesView(state.id)) {
        state.incomplete = true;
        return;
      }
      const SessionWrite& write = *entry.value().session;
      state.executed.emplace(write.statement, at.ts);
      at = write.previous;
    }
  };
  read_back();
  state.loaded = true;
}

void SessionStore::keep_image(Transaction& transaction, storage::Collection& images, const SessionWrite& write, Stamp stamp,
                              bson::DocumentView document) {
  put_image(transaction, images, write, stamp, document);
}

void SessionStore::written_elsewhere(Transaction& transaction, storage::Collection& records, const SessionWrite& write,
                                     OpTime last) {
  record_writes_.add();
  put_record(transaction, records, write, last);
  transaction.after_commit([this, session = Bytes(write.session)] {
    const base::MutexLock lock(mutex_);
    const auto found = states_.find(session);
    if (found != states_.end()) found->second->passed = true;
  });
}

void SessionStore::give_back(SessionHistory::State& state) {
  {
    const base::MutexLock lock(mutex_);
    state.lent = false;
  }
  given_back_.notify_all();
}

int64_t SessionStore::expire(Committer& committer, int64_t wall_ms, const std::function<bool(BytesView session)>& alive) {
  std::vector<Bytes> old;
  if (const auto records = store_.catalog().open(records_ns)) {
    const std::shared_lock schema(records->schema_mutex());
    Transaction transaction(store_, Transaction::Mode::read);
    const auto scan = records->scan(transaction, storage::Direction::forward);
    while (scan->next()) {
      const auto document = scan->document();
      const auto date = document.find("lastWriteDate");
      if (!document.find("_id").is_object() || date.type() != bson::Type::date || date.as_date().ms >= wall_ms) continue;
      Bytes session = session_of(document.find("_id").as_document());
      if (!session.empty() && !alive(session)) old.push_back(std::move(session));
    }
  }
  int64_t expired = 0;
  for (const Bytes& session : old) {
    {
      const base::MutexLock lock(mutex_);
      const auto found = states_.find(session);
      if (found != states_.end() && found->second->lent) continue;
      if (found != states_.end()) states_.erase(found);
    }
    const bson::Document id = lsid_document(session);
    for (const std::string_view ns : {records_ns, images_ns}) {
      const auto collection = store_.catalog().open(ns);
      if (!collection) continue;
      const std::shared_lock schema(collection->schema_mutex());
      storage::in_transaction(store_, [&](Transaction& transaction) {
        const auto record = collection->find_id(transaction, bson::ValueView(bson::Type::object, id.view().bytes()));
        const auto document = record ? collection->find(transaction, *record) : std::nullopt;
        // Used again since it was looked at: it stays.
        if (!document || (ns == records_ns && document->find("lastWriteDate").as_date().ms >= wall_ms)) return;
        committer.remove(transaction, *collection, *record, *document);
      });
    }
    ++expired;
  }
  // States that are dropped from memory here are read back when they are asked for again.
  const base::MutexLock lock(mutex_);
  for (auto at = states_.begin(); at != states_.end();) {
    const bool idle = !at->second->lent && !alive(at->first);
    at = idle ? states_.erase(at) : std::next(at);
  }
  return expired;
}

}  // namespace replication
