// dataSize returns the bytes and the number of the documents in a collection, or in a range of an index.
#include "base/clock.h"
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/query/reader.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

class DataSize : public Command {
 public:
  std::string_view name() const override { return "dataSize"; }
  std::vector<std::string_view> aliases() const override { return {"datasize"}; }
  std::string_view help() const override {
    return "determine data size for a set of data in a certain range\n"
           "example: { dataSize:\"blog.posts\", keyPattern:{x:1}, min:{x:10}, max:{x:55} }";
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string ns(arguments.required_string("dataSize"));
    const auto min = arguments.object("min");
    const auto max = arguments.object("max");
    const int64_t start_us = op.elapsed_us();
    const auto collection = write::store_of(op).catalog().find(ns);
    int64_t bytes = 0, count = 0;
    const bool estimate = arguments.loose_boolean("estimate").value_or(false);
    if (collection && !min && !max) {
      bytes = collection->logical_bytes();
      count = collection->record_count();
    } else if (collection) {
      query::Query query;
      if (min) query.min = bson::Document(*min);
      if (max) query.max = bson::Document(*max);
      if (const auto pattern = arguments.object("keyPattern")) query.hint = bson::Value(*pattern);
      const int64_t average = collection->logical_bytes() / std::max<int64_t>(1, collection->record_count());
      for (query::Reader reader(op, collection, ns, query); reader.next(); ++count) {
        bytes += estimate ? average : static_cast<int64_t>(reader.document().size());
      }
    }
    reply.append("estimate", estimate);
    append_count(reply, "size", bytes);
    append_count(reply, "numObjects", count);
    append_count(reply, "millis", (op.elapsed_us() - start_us) / 1000);
  }
};

}  // namespace

std::unique_ptr<Command> make_data_size_command() {
  return std::make_unique<DataSize>();
}

}  // namespace server
