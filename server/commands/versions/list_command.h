// The commands that list what a database with branches has.
#pragma once

#include "server/core/command.h"
#include "versions/database/databases.h"

namespace server {

class ListSource;
class OperationContext;

// Its fields are `cursor` and what every command has; a secondary answers too.
class ListCommand : public Command {
 public:
  std::optional<FieldNames> fields() const final;
  OnSecondary on_secondary() const final { return OnSecondary::opted_in; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) final;

 protected:
  // Adds what the cursor has, in its order.
  virtual void list(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                    ListSource& documents) const = 0;
};

}  // namespace server
