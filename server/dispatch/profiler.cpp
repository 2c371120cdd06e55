#include "server/dispatch/profiler.h"

#include <algorithm>
#include <shared_mutex>

#include "base/log.h"
#include "base/random.h"
#include "bson/builder.h"
#include "server/core/command.h"
#include "server/core/options.h"
#include "server/core/redaction.h"
#include "server/core/services.h"
#include "server/core/write_gate.h"
#include "server/dispatch/profile_entry.h"
#include "server/query/matcher.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int64_t collection_bytes = 1 << 20;
constexpr size_t entry_bytes_max = collection_bytes / 2;
constexpr char collection_name[] = "system.profile";

// Returns the database that a namespace, or a branch or snapshot, belongs to: branches and snapshots are profiled with it.
std::string_view home_of(std::string_view ns) {
  return ns.substr(0, ns.find_first_of("@."));
}

std::string profile_ns(std::string_view db) {
  return std::string(home_of(db)) + "." + collection_name;
}

std::string_view home_of(const OperationContext& op, const OperationEnd& end) {
  return home_of(end.ns.empty() ? std::string_view(op.request().db) : end.ns);
}

storage::CollectionOptions collection_options() {
  storage::CollectionOptions options;
  options.capped = true;
  options.capped_bytes = collection_bytes;
  bson::Builder shown;
  shown.append("capped", true).append("size", collection_bytes);
  options.document = shown.done();
  return options;
}

// Returns whether the operation reads or writes a database. Operations that don't, and those on the profiler's own collection,
// are never recorded.
bool concerns_data(const OperationContext& op, const OperationEnd& end) {
  const Command* command = end.command;
  if (!command || !op.services().store) return false;
  if (!end.ns.empty()) return storage::collection_of(end.ns) != collection_name;
  if (by_statement(command->kind())) return false;
  const Request& request = op.request();
  if (command->name() == "listCollections" || command->name() == "dropDatabase") return true;
  const bool reads_on = command->kind() == OpKind::get_more;
  const auto name = reads_on ? request.body.find("collection") : request.body.first();
  return (reads_on || command->may_take_collection()) && name.is_string() && name.as_string() != collection_name;
}

bool sampled(double rate) {
  return rate >= 1 || static_cast<double>(base::entropy64() >> 11) * 0x1.0p-53 < rate;
}

bool matches(const OperationContext& op, bson::DocumentView filter, bson::DocumentView entry) {
  try {
    return query::Matcher::parse(filter, query::parse_context(op))->matches(entry);
  } catch (const OperationError&) {
    return false;  // an expression of the filter fails for this entry
  }
}

void write_entry(OperationContext& op, std::string_view db, bson::DocumentView entry) {
  if (entry.size() > entry_bytes_max) return;  // it would push out all other entries
  // The operation itself is over. A write passed the gate before, and a read isn't kept waiting for its entry.
  WriteGate* const gate = op.services().write_gate;
  const base::SharedHold passed = gate ? gate->try_pass() : base::SharedHold();
  if (gate && !passed) return;
  storage::Store& store = *op.services().store;
  const std::string ns = profile_ns(db);
  for (;;) {
    const auto collection = store.catalog().find(ns);
    if (!collection) {
      Profiler::make_collection(op.services(), db);
      continue;
    }
    const std::shared_lock schema(collection->schema_mutex());
    if (collection->dropped() || !collection->options().capped) return;
    bson::Builder with_id;  // every document stored here has an _id; those of MongoDB's profiler have none
    with_id.append("_id", bson::ObjectId::generate()).append_all(entry);
    const bson::Document document = with_id.done();
    storage::in_transaction(store, [&](storage::Transaction& transaction) { collection->insert(transaction, document); });
    return;
  }
}

}  // namespace

Profiler::Profiler(const Options& options)
    : slow_ms(options.slow_op_ms),
      sample_rate(options.slow_op_sample_rate),
      defaults_{options.profile_level, nullptr},
      any_(options.profile_level > 0) {}

Profiler::Settings Profiler::settings(std::string_view db) const {
  const base::ReaderLock lock(mutex_);
  const auto found = settings_.find(home_of(db));
  return found == settings_.end() ? defaults_ : found->second;
}

void Profiler::set(std::string_view db, Settings settings) {
  const base::WriterLock lock(mutex_);
  settings_.insert_or_assign(std::string(home_of(db)), std::move(settings));
  any_ = defaults_.level > 0 || std::any_of(settings_.begin(), settings_.end(),
                                            [](const auto& one) { return one.second.level > 0 || one.second.filter; });
}

void Profiler::forget(std::string_view db) {
  const base::WriterLock lock(mutex_);
  const auto found = settings_.find(home_of(db));
  if (found != settings_.end()) settings_.erase(found);
}

void Profiler::make_collection(Services& services, std::string_view db) {
  storage::Catalog& catalog = services.store->catalog();
  const std::string ns = profile_ns(db);
  auto collection = catalog.find(ns);
  if (!collection) {
    try {
      collection = catalog.create(ns, collection_options());
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::namespace_exists) throw;
      collection = catalog.find(ns);  // another operation has just made it
    }
  }
  if (collection && !collection->options().capped)
    throw OperationError(ErrorCode::namespace_exists, ns + " exists but isn't capped");
}

Profiler::Wanted Profiler::judge(OperationContext& op, const OperationEnd& end) const {
  const bool slow = end.us / 1000 > slow_ms.load(std::memory_order_relaxed);
  const bool any = any_.load(std::memory_order_relaxed);
  if (!slow && !any) return {};
  const Settings settings = any ? this->settings(home_of(op, end)) : Settings();
  const bool profiled = settings.level > 0 && concerns_data(op, end);
  if (settings.filter) {
    const bool wanted = matches(op, *settings.filter, profile_entry(op, end));
    return {wanted, wanted && profiled};
  }
  const bool wanted = slow && sampled(sample_rate.load(std::memory_order_relaxed));
  return {wanted, profiled && (wanted || settings.level == 2)};
}

bool Profiler::finish(OperationContext& op, const OperationEnd& end) {
  try {
    const Wanted wanted = judge(op, end);
    if (wanted.profile) write_entry(op, home_of(op, end), profile_entry(op, end));
    return wanted.log;
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::command, 20703, "Cannot profile an operation",
              base::Attributes().add("db", home_of(op, end)).add("error", op.services().redacts_log ? redacted : error.what()));
    return false;
  }
}

}  // namespace server
