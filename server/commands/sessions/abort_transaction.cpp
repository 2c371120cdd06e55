// abortTransaction drops the changes of a transaction's statements.
#include "base/error.h"
#include "server/commands/sessions/end_transaction.h"
#include "server/core/operation.h"
#include "server/core/transaction_registry.h"

namespace server {
namespace {

class AbortTransaction : public EndTransaction {
 public:
  std::string_view name() const override { return "abortTransaction"; }
  std::string_view help() const override { return "Aborts a transaction"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"recoveryToken"};
    return names;
  }

 protected:
  void end(OperationContext& op, TransactionHold& hold) override {
    op.transaction = nullptr;
    hold.abort();
  }
  void committed_before(OperationContext& op) override {
    throw base::OperationError(base::ErrorCode::transaction_committed,
                               "Transaction with { txnNumber: " + std::to_string(*op.txn_number) + " } has been committed.");
  }
};

}  // namespace

std::unique_ptr<Command> make_abort_transaction_command() {
  return std::make_unique<AbortTransaction>();
}

}  // namespace server
