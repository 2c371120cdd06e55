#include "versions/log/collection_entries.h"

namespace versions::log {

bson::Document MakeCollection::encode() const {
  bson::Builder command;
  command.append(name, branch).append("collection", binary_of_uuid(collection));
  return command.done();
}
MakeCollection MakeCollection::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .collection = fields.uuid("collection")};
}

bson::Document DropCollection::encode() const {
  bson::Builder command;
  command.append(name, branch).append("collection", binary_of_uuid(collection));
  return command.done();
}
DropCollection DropCollection::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .collection = fields.uuid("collection")};
}

bson::Document TakeCollection::encode() const {
  bson::Builder command;
  command.append(name, branch).append("collection", binary_of_uuid(collection)).append("from", from);
  return command.done();
}
TakeCollection TakeCollection::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .collection = fields.uuid("collection"), .from = fields.text("from")};
}

}  // namespace versions::log
