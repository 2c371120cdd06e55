// coordinateCommitTransaction commits a transaction over several shards. There are none.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class CoordinateCommitTransaction : public Command {
 public:
  std::string_view name() const override { return "coordinateCommitTransaction"; }
  std::string_view help() const override { return "Coordinates the commit for a transaction. Only called by mongos."; }
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  bool ends_transaction() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    throw base::OperationError(base::ErrorCode::no_sharding_enabled,
                               "Cannot accept sharding commands if not started with --shardsvr");
  }
};

}  // namespace

std::unique_ptr<Command> make_coordinate_commit_transaction_command() {
  return std::make_unique<CoordinateCommitTransaction>();
}

}  // namespace server
