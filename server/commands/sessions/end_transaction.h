// commitTransaction and abortTransaction end a client's transaction.
#pragma once

#include "server/core/command.h"

namespace server {

class TransactionHold;

class EndTransaction : public Command {
 public:
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  bool ends_transaction() const override { return true; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override;

 protected:
  // `hold`: on a transaction that is in progress.
  virtual void end(OperationContext& op, TransactionHold& hold) = 0;
  // The transaction was committed before.
  virtual void committed_before(OperationContext& op) = 0;
};

}  // namespace server
