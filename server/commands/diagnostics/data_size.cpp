// dataSize returns the bytes and the number of the documents in a collection, or in a range of an index.
#include "base/clock.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
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

using base::ErrorCode;
using base::OperationError;

// Returns the key {a: 1, b: 1} of the bound {a: 5, b: 6}.
bson::Document key_of_bound(bson::DocumentView bound) {
  bson::Builder key;
  for (const bson::Element& field : bound) key.append(field.name, 1);
  return key.done();
}

// Returns whether the key's fields are the first of the index's.
bool begins_with(bson::DocumentView index, bson::DocumentView key) {
  auto at = index.begin();
  for (const bson::Element& field : key) {
    if (at == index.end() || at->name != field.name || bson::compare(*at, field) != 0) return false;
    ++at;
  }
  return true;
}

// Returns the index of a range: each document has one key of it.
std::shared_ptr<const storage::Index> find_index(const storage::Collection& collection, bson::DocumentView key) {
  std::shared_ptr<const storage::Index> found;
  for (const auto& index : collection.indexes()) {
    const storage::IndexSpec& spec = index->spec();
    const bool whole = index->ready() && !spec.hidden && !spec.sparse && spec.partial_filter.empty() && !spec.collator &&
                       !index->multikey() && !spec.text && !spec.geo && !spec.wildcard;
    if (!whole || !begins_with(spec.key, key)) continue;
    if (!found || spec.key.view().count() < found->spec().key.view().count()) found = index;
  }
  if (!found) throw OperationError(ErrorCode::operation_failed, "Couldn't find valid index containing key pattern");
  return found;
}

// Returns the bound with the fields of the index that it lacks: it is before all their values.
bson::Document whole_bound(bson::DocumentView bound, bson::DocumentView key) {
  bson::Builder out;
  auto at = bound.begin();
  for (const bson::Element& field : key) {
    if (at == bound.end()) {
      const bool descends = field.is_number() && field.to_double() < 0;
      out.append(field.name, bson::ValueView(descends ? bson::Type::max_key : bson::Type::min_key, {}));
      continue;
    }
    if (at->name != field.name) break;
    out.append_element(*at);
    ++at;
  }
  if (at != bound.end()) {
    throw OperationError(
        16634, "field names of bound " + bson::to_shell(bound) + " do not match those of keyPattern " + bson::to_shell(key));
  }
  return out.done();
}

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
    const bson::DocumentView min = arguments.object("min").value_or(bson::DocumentView());
    const bson::DocumentView max = arguments.object("max").value_or(bson::DocumentView());
    const bson::DocumentView pattern = arguments.object("keyPattern").value_or(bson::DocumentView());
    if (min.empty() != max.empty()) throw OperationError(ErrorCode::bad_value, "Only one of min or max specified");
    const int64_t start_us = op.elapsed_us();
    const auto collection = write::store_of(op).catalog().find(ns);
    int64_t bytes = 0, count = 0;
    const bool estimate = arguments.loose_boolean("estimate").value_or(false);
    if (collection && min.empty()) {
      bytes = collection->logical_bytes();
      count = collection->record_count();
    } else if (collection) {
      const auto index = find_index(*collection, pattern.empty() ? key_of_bound(min).view() : pattern);
      query::Query query;
      query.min = whole_bound(min, index->spec().key);
      query.max = whole_bound(max, index->spec().key);
      query.hint = bson::Value(index->spec().name);
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
