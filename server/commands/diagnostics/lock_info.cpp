// lockInfo shows which operations hold the schema lock of a collection, or wait
// for it.
#include <map>

#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

struct LockRequest {
  std::string mode, client;
  int32_t operation = 0;
};

struct Lock {
  std::vector<LockRequest> granted, pending;
};

void append_requests(bson::Builder& out, const char* name, const std::vector<LockRequest>& requests) {
  auto list = out.array(name);
  for (const LockRequest& request : requests) {
    auto one = list.object();
    one.append("mode", request.mode)
        .append("convertMode", "NONE")
        .append("enqueueAtFront", false)
        .append("compatibleFirst", false);
    one.append("debugInfo", "");
    one.object("clientInfo").append("desc", request.client).append("opid", request.operation);
  }
}

class LockInfo : public Command {
 public:
  std::string_view name() const override { return "lockInfo"; }
  std::string_view help() const override { return "show all lock info on the server"; }
  bool admin_only() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"includeStorageEngineInfo"};
    return names;
  }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    std::map<std::string, Lock> locks;
    op.services().operations.visit([&](const OperationContext& other) { note(other, locks); });
    auto list = reply.array("lockInfo");
    for (const auto& [ns, lock] : locks) {
      auto one = list.object();
      one.append("resourceId", "{Collection, " + ns + "}");
      append_requests(one, "granted", lock.granted);
      append_requests(one, "pending", lock.pending);
    }
  }

 private:
  static void note(const OperationContext& op, std::map<std::string, Lock>& locks) {
    const OperationContext::Locks& held = op.locks;
    const auto some = [](const std::atomic<int32_t>& count) { return count.load(std::memory_order_relaxed) > 0; };
    const bool reads = some(held.reading), writes = some(held.writing), waits_to_read = some(held.waiting_to_read),
               waits_to_write = some(held.waiting_to_write);
    if (!reads && !writes && !waits_to_read && !waits_to_write) return;
    Lock& lock = locks[shown_namespace(op.request(), op.command())];
    const auto request = [&](const char* mode) { return LockRequest{mode, op.client().description(), op.id()}; };
    if (writes || reads) lock.granted.push_back(request(writes ? "IX" : "IS"));
    if (waits_to_read || waits_to_write) lock.pending.push_back(request(waits_to_write ? "IX" : "IS"));
  }
};

}  // namespace

std::unique_ptr<Command> make_lock_info_command() {
  return std::make_unique<LockInfo>();
}

}  // namespace server
