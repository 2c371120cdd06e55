#include "server/core/default_concerns.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "bson/value.h"
#include "server/core/arguments.h"
#include "server/core/generic_arguments.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

std::string default_read_level(bson::DocumentView concern) {
  const Arguments arguments("readConcern", concern);
  const std::string level(arguments.string("level").value_or(""));
  if (concern.has("afterOpTime"))
    throw OperationError(ErrorCode::bad_value, "'afterOpTime' is not suitable for the default read concern");
  if (concern.has("afterClusterTime"))
    throw OperationError(ErrorCode::bad_value, "'afterClusterTime' is not suitable for the default read concern");
  arguments.only({"level"});
  if (level != "local" && level != "available" && level != "majority") {
    throw OperationError(ErrorCode::bad_value, "level: '" + level + "' is not suitable for the default read concern");
  }
  return level;
}

WriteConcern default_write_concern(bson::DocumentView given) {
  WriteConcern concern = parse_write_concern(given, true);
  if (concern.mode.empty() && concern.tags.empty() && concern.members == 0) {
    throw OperationError(ErrorCode::bad_value, "Unacknowledged write concern is not suitable for the default write concern");
  }
  return concern;
}

namespace {

ConcernDefaults read(storage::Store& store) {
  ConcernDefaults found;
  const auto document = storage::find_document(store, settings_ns, bson::Value(default_concerns_id));
  if (!document) return found;
  bson::Builder stored;
  for (const auto& field : *document) {
    if (field.name != "_id") stored.append_element(field);
  }
  found.stored = stored.done();
  const Arguments fields("ReadWriteConcernDefaults", found.stored);
  if (const auto concern = fields.object("defaultReadConcern")) found.read_level = default_read_level(*concern);
  if (const auto concern = fields.object("defaultWriteConcern")) found.write = default_write_concern(*concern);
  return found;
}

}  // namespace

DefaultConcerns::DefaultConcerns(storage::Store& store, base::Clock& clock)
    : store_(store), clock_(clock), current_(std::make_shared<const ConcernDefaults>()) {
  refresh();
}

std::shared_ptr<const ConcernDefaults> DefaultConcerns::current() const {
  const base::MutexLock lock(mutex_);
  return current_;
}

void DefaultConcerns::refresh() {
  const base::MutexLock alone(refreshing_);
  ConcernDefaults found;
  try {
    found = read(store_);
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::command, 7100041,
              "The default concerns in config.settings can't be used", base::Attributes().add("error", error.what()));
    return;
  }
  const base::MutexLock lock(mutex_);
  if (current_->read_ms != 0 && found.stored.bytes() == current_->stored.bytes()) return;
  found.read_ms = clock_.wall_ms();
  current_ = std::make_shared<const ConcernDefaults>(std::move(found));
}

}  // namespace server
