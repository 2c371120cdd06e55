#include "server/query/cursor_registry.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "bson/builder.h"
#include "replication/optime.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/reply_size.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/shown_command.h"
#include "server/core/text.h"
#include "storage/engine/transaction.h"

namespace server::query {

namespace {

using base::ErrorCode;
using base::OperationError;

constexpr int32_t cursor_in_use = 143;
constexpr int32_t api_mismatch = 347;
constexpr size_t batch_bytes_max = bson::document_bytes_max;

bool same_session(bson::DocumentView a, bson::DocumentView b) {
  return a["id"].identical(b["id"]);
}

void check_session(const Cursor& cursor, const OperationContext& op) {
  const bool had = !cursor.lsid.empty(), has = op.lsid.is_object();
  const std::string begin = "Cannot run getMore on cursor " + std::to_string(cursor.id) + ", which was ";
  if (!had && has) throw OperationError(50736, begin + "not created in a session, in session " + show(op.lsid));
  if (had && !has) throw OperationError(50737, begin + "created in session " + show(cursor.lsid.view()) + ", without an lsid");
  if (had && has && !same_session(cursor.lsid, op.lsid.as_document())) {
    throw OperationError(50738, begin + "created in session " + show(cursor.lsid.view()) + ", in session " + show(op.lsid));
  }
}

void check_transaction(const Cursor& cursor, const OperationContext& op) {
  const bool had = cursor.txn_number.has_value(), has = op.in_transaction;
  const std::string begin = "Cannot run getMore on cursor " + std::to_string(cursor.id) + ", which was ";
  if (!had && has)
    throw OperationError(50739, begin + "not created in a transaction, in transaction " + std::to_string(*op.txn_number));
  if (had && !has) {
    throw OperationError(
        50740, begin + "created in transaction " + std::to_string(*cursor.txn_number) + ", without a transaction number");
  }
  if (had && cursor.txn_number != op.txn_number) {
    throw OperationError(50741, begin + "created in transaction " + std::to_string(*cursor.txn_number) + ", in transaction " +
                                    std::to_string(*op.txn_number));
  }
}

bson::Document api_of(const OperationContext& op) {
  if (op.api.version.empty()) return {};
  bson::Builder out;
  out.append("apiVersion", op.api.version);
  if (op.api.strict) out.append("apiStrict", true);
  if (op.api.deprecation_errors) out.append("apiDeprecationErrors", true);
  return out.done();
}

void check_api(const Cursor& cursor, const OperationContext& op) {
  const bson::Document api = api_of(op);
  if (api.bytes() == cursor.api.bytes()) return;
  throw OperationError(api_mismatch, "API parameter mismatch: getMore used params " + show(api.view()) +
                                         ", the cursor-creating command used " + show(cursor.api.view()));
}

// A cursor belongs to who made it, and shows what he may read.
void check_owner(const access::AuthorityPtr& owner, const OperationContext& op, const char* command, int64_t id) {
  if (!op.services().options.authorization) return;
  const access::AuthorityPtr own = op.client().authority();
  if ((!own && !owner) || (own && owner && own->user == owner->user && own->user_id == owner->user_id)) return;
  throw OperationError(ErrorCode::unauthorized,
                       std::string(command) + ": cursor id " + std::to_string(id) + " was not created by the authenticated user");
}

bool may_kill_any(const OperationContext& op, std::string_view ns) {
  const size_t dot = ns.find('.');
  const auto on_collection =
      access::Resource::of_collection(ns.substr(0, dot), dot == ns.npos ? ns.substr(0, 0) : ns.substr(dot + 1));
  return may_on_cluster(op, access::Action::killAnyCursor) || may(op, {access::Action::killAnyCursor}, on_collection);
}

[[noreturn]] void not_found(int64_t id) {
  throw OperationError(ErrorCode::cursor_not_found, "cursor id " + std::to_string(id) + " not found");
}

}  // namespace

CursorRegistry::Slots::iterator CursorRegistry::erase(Slots::iterator slot) {
  static constexpr int64_t bounds_ms[] = {1'000, 5'000, 15'000, 30'000, 60'000, 600'000};
  const int64_t lived_ms = clock_.wall_ms() - slot->second.created_ms;
  ++counts_.lives[static_cast<size_t>(std::upper_bound(std::begin(bounds_ms), std::end(bounds_ms), lived_ms) -
                                      std::begin(bounds_ms))];
  return slots_.erase(slot);
}

void CursorRegistry::put(Slot& slot, std::unique_ptr<Cursor> cursor) {
  slot.documents_returned = cursor->documents_returned;
  slot.batches_returned = cursor->batches_returned;
  slot.cursor = std::move(cursor);
}

int64_t CursorRegistry::add(std::unique_ptr<Cursor> cursor) {
  const base::MutexLock lock(mutex_);
  if (slots_.size() >= cursors_max) {
    throw OperationError(ErrorCode::operation_failed, "too many open cursors: " + std::to_string(slots_.size()));
  }
  int64_t id = 0;
  while (id == 0 || slots_.contains(id)) id = static_cast<int64_t>(base::entropy64() >> 1);
  cursor->id = id;
  Slot& slot = slots_[id];
  slot.ns = cursor->ns;
  slot.created_ms = slot.used_ms = clock_.wall_ms();
  slot.no_timeout = cursor->no_timeout;
  slot.lsid = cursor->lsid;
  slot.owner = cursor->owner;
  slot.command = cursor->command;
  slot.tailable = cursor->tailable;
  slot.await_data = cursor->await_data;
  put(slot, std::move(cursor));
  ++counts_.opened;
  return id;
}

std::unique_ptr<Cursor> CursorRegistry::check_out(int64_t id, std::string_view ns, OperationContext& op) {
  const base::MutexLock lock(mutex_);
  const auto found = slots_.find(id);
  if (found == slots_.end() || found->second.killed) not_found(id);
  Slot& slot = found->second;
  if (slot.ns != ns) {
    throw OperationError(ErrorCode::unauthorized, "Requested getMore on namespace '" + std::string(ns) +
                                                      "', but cursor belongs to a different namespace " + slot.ns);
  }
  check_owner(slot.owner, op, "getMore", id);
  if (!slot.cursor || (slot.parked && !op.parked_until))
    throw OperationError(cursor_in_use, "cursor id " + std::to_string(id) + " is already in use");
  check_session(*slot.cursor, op);
  check_transaction(*slot.cursor, op);
  check_api(*slot.cursor, op);
  slot.operation = op.id();
  slot.parked = false;
  if (!std::exchange(slot.read_on, true)) ++counts_.read_on;
  return std::move(slot.cursor);
}

bool CursorRegistry::check_in(std::unique_ptr<Cursor> cursor, bool parked) {
  const base::MutexLock lock(mutex_);
  const auto found = slots_.find(cursor->id);
  if (found == slots_.end()) return false;
  Slot& slot = found->second;
  if (slot.killed) {
    erase(found);
    return false;
  }
  slot.operation = 0;
  slot.used_ms = clock_.wall_ms();
  slot.parked = parked;
  put(slot, std::move(cursor));
  return true;
}

void CursorRegistry::unpark(int64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = slots_.find(id);
  if (found != slots_.end()) found->second.parked = false;
}

void CursorRegistry::finish(int64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = slots_.find(id);
  if (found != slots_.end()) erase(found);
}

CursorRegistry::Killed CursorRegistry::kill(int64_t id, std::string_view ns, const OperationContext& op) {
  Dead dead;  // it is destroyed outside the lock
  const base::MutexLock lock(mutex_);
  const auto found = slots_.find(id);
  if (found == slots_.end() || found->second.killed || found->second.ns != ns) return {};
  if (!may_kill_any(op, ns)) check_owner(found->second.owner, op, "killCursors", id);
  Slot& slot = found->second;
  if (!slot.cursor) {
    slot.killed = true;
    return {.found = true, .operation = slot.operation};
  }
  bury(std::move(slot.cursor), dead);
  erase(found);
  return {.found = true};
}

void CursorRegistry::kill_sessions(bson::BytesView pattern) {
  Dead dead;
  const base::MutexLock lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    Slot& slot = it->second;
    if (slot.lsid.empty() || !fits_session(session_key(slot.lsid, slot.owner), pattern)) {
      ++it;
    } else if (slot.cursor) {
      bury(std::move(slot.cursor), dead);
      it = erase(it);
    } else {
      slot.killed = true;
      ++it;
    }
  }
}

size_t CursorRegistry::expire() {
  const int64_t now_ms = clock_.wall_ms();
  snapshots.expire(now_ms);
  size_t expired = 0;
  Dead dead;
  const base::MutexLock lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    Slot& slot = it->second;
    if (slot.cursor && !slot.parked && !slot.no_timeout && now_ms - slot.used_ms >= timeout_ms.load()) {
      ++expired;
      bury(std::move(slot.cursor), dead);
      it = erase(it);
    } else {
      ++it;
    }
  }
  counts_.timed_out += static_cast<int64_t>(expired);
  return expired;
}

void CursorRegistry::bury(std::unique_ptr<Cursor> cursor, Dead& dead) {
  (cursor->txn_number ? dead_in_transactions_ : dead).push_back(std::move(cursor));
}

void CursorRegistry::end_transaction(bson::BytesView session, int64_t txn_number) {
  Dead dead;
  const base::MutexLock lock(mutex_);
  const auto belongs = [&](const Cursor& cursor) {
    return cursor.txn_number == txn_number && session_key(cursor.lsid, cursor.owner) == session;
  };
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (!it->second.cursor || !belongs(*it->second.cursor)) {
      ++it;
      continue;
    }
    dead.push_back(std::move(it->second.cursor));
    it = erase(it);
  }
  const auto buried = std::partition(dead_in_transactions_.begin(), dead_in_transactions_.end(),
                                     [&](const std::unique_ptr<Cursor>& cursor) { return !belongs(*cursor); });
  std::move(buried, dead_in_transactions_.end(), std::back_inserter(dead));
  dead_in_transactions_.erase(buried, dead_in_transactions_.end());
}

std::vector<CursorRegistry::Shown> CursorRegistry::show(bool in_use, bool whole_commands) const {
  const base::MutexLock lock(mutex_);
  std::vector<Shown> all;
  for (const auto& [id, slot] : slots_) {
    if (slot.killed || in_use == (slot.cursor != nullptr)) continue;
    bson::Builder command;
    if (slot.command) append_shown(command, *slot.command, whole_commands);
    Shown& one = all.emplace_back();
    one.id = id;
    one.operation = slot.operation;
    one.ns = slot.ns;
    one.command = command.done();
    one.lsid = slot.lsid;
    if (slot.cursor) {
      one.plan_summary = slot.cursor->plan_summary;
      one.progress = slot.cursor->progress;
    }
    one.created_ms = slot.created_ms;
    one.used_ms = slot.used_ms;
    one.documents_returned = slot.documents_returned;
    one.batches_returned = slot.batches_returned;
    one.tailable = slot.tailable;
    one.await_data = slot.await_data;
    one.no_timeout = slot.no_timeout;
    one.owner = slot.owner;
  }
  return all;
}

CursorRegistry::Counts CursorRegistry::counts() const {
  const base::MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.open = static_cast<int64_t>(slots_.size());
  for (const auto& [id, slot] : slots_) {
    counts.pinned += !slot.cursor || slot.parked ? 1 : 0;
    counts.no_timeout += slot.no_timeout ? 1 : 0;
  }
  return counts;
}

bool fill_batch(OperationContext& op, Cursor& cursor, int64_t documents_max, bson::ArrayBuilder& batch) {
  const size_t before = batch.size();
  // An entry of the log holds a document of any size, and more.
  const size_t bytes_max = cursor.ns.starts_with("local.") ? bson::document_bytes_max_internal : bson::document_bytes_max;
  for (int64_t count = 0; documents_max < 0 || count < documents_max; ++count) {
    if (!cursor.stashed && !cursor.source->next()) {
      cursor.resume_token = cursor.source->resume_token();
      return false;
    }
    const bson::DocumentView document = cursor.stashed ? cursor.stashed->view() : cursor.source->document();
    check_document_size(document.size(), bytes_max);
    if (count > 0 && batch.size() - before + document.size() > batch_bytes_max) {
      if (!cursor.stashed) cursor.stashed = bson::Document(document);
      return true;
    }
    op.allowance().memory().hold(document.size());
    batch.append(document);
    if (cursor.resume_token) cursor.resume_token = bson::Document(document["_id"].as_document());
    cursor.stashed.reset();
  }
  return cursor.stashed.has_value() || !cursor.source->exhausted();
}

void append_resume_token(const Cursor& cursor, bson::Builder& out) {
  if (cursor.resume_token) out.append("postBatchResumeToken", *cursor.resume_token);
}

void count_batch(OperationContext& op, Cursor& cursor, size_t returned) {
  op.counts.returned = static_cast<int64_t>(returned);
  cursor.documents_returned += op.counts.returned;
  if (!op.parked) ++cursor.batches_returned;  // a parked getMore runs again
  if (op.explain_wanted) cursor.source->note_execution(op);
  const auto examined = cursor.source->examined();
  if (!examined) return;
  op.counts.keys_examined = examined->keys - cursor.reported.keys;
  op.counts.docs_examined = examined->documents - cursor.reported.documents;
  cursor.reported = *examined;
}

void reply_first_batch(OperationContext& op, CursorRegistry& registry, std::unique_ptr<Cursor> cursor, int64_t documents_max,
                       bool single_batch, bson::Builder& reply, std::string_view error_context) {
  cursor->owner = op.client().authority();
  auto out = reply.object("cursor");
  const std::string ns = cursor->ns;
  bool more = false;
  {
    auto batch = out.array("firstBatch");
    cursor->resume_token = cursor->source->resume_token();
    op.error_context = error_context;
    more = fill_batch(op, *cursor, documents_max, batch);
    op.error_context = {};
    count_batch(op, *cursor, batch.count());
  }
  append_resume_token(*cursor, out);
  int64_t id = 0;
  if ((more || (cursor->tailable && !cursor->source->closed())) && !single_batch) {
    cursor->source->end();
    if (op.deadline()) cursor->time_left = *op.remaining();
    cursor->moment = op.moment;
    cursor->api = api_of(op);
    if (op.transaction) cursor->txn_number = op.txn_number;
    cursor->progress = op.progress();
    cursor->majority_committed = op.read_concern.majority_committed();
    id = registry.add(std::move(cursor));
    op.counts.cursor_id = id;
  }
  op.counts.exhausted = id == 0;
  if (op.moment) out.append("atClusterTime", replication::timestamp_of(op.moment->stamp));
  out.append("id", id).append("ns", ns);
}

}  // namespace server::query
