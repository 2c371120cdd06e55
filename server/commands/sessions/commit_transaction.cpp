// commitTransaction makes the changes of a transaction's statements happen, all at once.
#include "server/commands/sessions/end_transaction.h"
#include "server/core/client_transaction.h"
#include "server/core/operation.h"
#include "server/core/transaction_registry.h"
#include "server/write/commit.h"

namespace server {
namespace {

class CommitTransaction : public EndTransaction {
 public:
  std::string_view name() const override { return "commitTransaction"; }
  std::string_view help() const override { return "Commits a transaction"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"commitTimestamp", "durableTimestamp", "recoveryToken"};
    return names;
  }

 protected:
  void end(OperationContext& op, TransactionHold& hold) override {
    write::commit(op, *hold.transaction());
    op.transaction = nullptr;
    hold.committed();
  }
  void committed_before(OperationContext&) override {}
};

}  // namespace

std::unique_ptr<Command> make_commit_transaction_command() {
  return std::make_unique<CommitTransaction>();
}

}  // namespace server
