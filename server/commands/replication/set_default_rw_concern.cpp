// setDefaultRWConcern sets the concerns of commands that name none of their own, on all members of the set.
#include "base/clock.h"
#include "base/mutex.h"
#include "replication/coordinator.h"
#include "replication/oplog.h"
#include "server/commands/replication/default_rw_concern.h"
#include "server/core/arguments.h"
#include "server/core/services.h"
#include "server/write/statements.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class SetDefaultRWConcern : public Command {
 public:
  std::string_view name() const override { return "setDefaultRWConcern"; }
  std::string_view help() const override { return "set the current read/write concern defaults (cluster-wide)"; }
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view known[] = {"defaultReadConcern", "defaultWriteConcern"};
    return known;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    DefaultConcerns& defaults = default_concerns_of(op, name());
    const Arguments arguments(request);
    const auto read = arguments.object("defaultReadConcern"), write = arguments.object("defaultWriteConcern");
    if (!read && !write) {
      throw OperationError(ErrorCode::bad_value,
                           R"(At least one of the "defaultReadConcern" or "defaultWriteConcern" fields must be present)");
    }
    if (read && !read->empty()) default_read_level(*read);
    if (write && !write->empty()) check_write(op, *write);
    const base::MutexLock alone(setting_);
    defaults.refresh();
    const auto before = defaults.current();
    if (write && write->empty() && before->write) {
      throw OperationError(ErrorCode::illegal_operation, "The global default write concern cannot be unset once it is set.");
    }
    write::put_document(op, settings_ns, default_concerns_id, merged(op, before->stored, read, write));
    defaults.refresh();
    append_defaults(*defaults.current(), reply);
  }

 private:
  // One operation at a time merges its concerns with the stored ones, or one of two would lose the other's.
  base::Mutex setting_;

  // A default that the members can never satisfy would block every write.
  static void check_write(OperationContext& op, bson::DocumentView given) {
    const WriteConcern concern = default_write_concern(given);
    if (const auto never = op.services().replica_set->unsatisfiable(concern)) throw OperationError(never->code, never->message);
  }

  // A missing concern stays as it is; an empty read concern is removed.
  static bson::Document merged(const OperationContext& op, bson::DocumentView before, std::optional<bson::DocumentView> read,
                               std::optional<bson::DocumentView> write) {
    bson::Builder out;
    const auto put = [&](std::string_view field, const std::optional<bson::DocumentView>& given) {
      const auto kept = before.find(field);
      if (given && !given->empty())
        out.append(field, *given);
      else if (!given && kept.is_object())
        out.append(field, kept.as_document());
    };
    put("defaultReadConcern", read);
    put("defaultWriteConcern", write);
    out.append("updateOpTime", replication::timestamp_of(op.services().oplog->newest().optime.ts));
    out.append("updateWallClockTime", bson::Date{op.services().clock.wall_ms()});
    return out.done();
  }
};

}  // namespace

std::unique_ptr<Command> make_set_default_rw_concern_command() {
  return std::make_unique<SetDefaultRWConcern>();
}

}  // namespace server
