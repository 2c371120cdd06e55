// merge, cherryPick and revert are commands that merge changes into a branch, and make a commit.
#pragma once

#include "server/core/command.h"
#include "versions/database/databases.h"

namespace server {

class MergeCommand : public Command {
 public:
  using Kind = versions::Branches::MergeKind;

  explicit MergeCommand(Kind kind) : kind_(kind) {}

  std::string_view name() const override;
  std::optional<FieldNames> fields() const override;  // those of cherryPick and revert
  bool writes() const override { return true; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override;

 private:
  const Kind kind_;
};

}  // namespace server
