// Filters, projections and sorts over a collection with indexes, over one without any, and by the matcher alone: all refuse a
// filter, or find the same documents. The replies are valid documents.
//
// The input chooses what the grammar makes (server/testing/query_grammar.h).
#include <set>

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/matcher.h"
#include "server/query/parse_context.h"
#include "server/query/test_support.h"
#include "server/testing/query_grammar.h"

namespace {

using namespace server::query;
using bson::testing::Choices;
using server::testing::check_made;
using server::testing::query_grammar;

constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 4 * bson::nesting_max, .utf8 = true};
constexpr int documents = 40;

// The grammar made these documents, too; their _id is their number.
struct Fixture {
  TestServer server;
  std::vector<bson::Document> all;

  Fixture() {
    const auto inputs = server::testing::random_choices(7, documents, 60);
    for (int i = 0; i < documents; ++i) {
      Choices choices(inputs[static_cast<size_t>(i)]);
      bson::Builder out;
      out.append("_id", i);
      for (const bson::Element& field : query_grammar().document("document", choices, false)) {
        if (field.name != "_id") out.append_element(field);
      }
      all.push_back(out.done());
    }
    for (const char* collection : {"c", "d"}) {
      for (const auto& one : all) server.insert(collection, one);
    }
    server.create_index("c", "a", "{key: {a: 1}}");
    server.create_index("c", "bc", "{key: {'b.c': 1, a: -1}}");
    server.create_index("c", "l", "{key: {l: 1}}");
    server.create_index("c", "ok", "{key: {'o.k': 1, s: 1}}");
    server.create_index("c", "s", "{key: {s: -1}, sparse: true}");
    server.create_index("c", "x", "{key: {x: 1}, partialFilterExpression: {a: {$gt: 0}}}");
  }
};
Fixture& fixture() {
  static Fixture one;
  return one;
}

bson::ValueView as_value(const bson::Document& document) {
  return {bson::Type::object, document.bytes()};
}
bson::Document command_shown(bson::DocumentView filter, bson::DocumentView projection, bson::DocumentView sort) {
  return bson::Builder().append("filter", filter).append("projection", projection).append("sort", sort).done();
}

bson::Document find(const char* collection, bson::DocumentView filter, bson::DocumentView projection, bson::DocumentView sort) {
  bson::Builder command;
  command.append("find", collection).append("filter", filter).append("batchSize", 1000).append("singleBatch", true);
  if (!projection.empty()) command.append("projection", projection);
  if (!sort.empty()) command.append("sort", sort);
  command.append("maxTimeMS", 5000);
  bson::Document reply = fixture().server.run(command.done());
  const bson::Document shown = command_shown(filter, projection, sort);
  check_made(bson::validate(reply.bytes(), made).ok(), "a reply is a valid document", {as_value(shown)});
  check_made(reply["ok"].truthy() || reply["code"].to_int64() != static_cast<int>(base::ErrorCode::internal_error),
             "a query is refused in order", {as_value(shown), as_value(reply)});
  return reply;
}

std::optional<std::set<int64_t>> ids(const bson::Document& reply) {
  if (!reply["ok"].truthy()) return std::nullopt;
  std::set<int64_t> found;
  for (const bson::Element& one : reply["cursor"].as_document()["firstBatch"].as_document())
    found.insert(one.as_document()["_id"].to_int64());
  return found;
}

std::optional<std::set<int64_t>> matched(bson::DocumentView filter) {
  TestServer::Operation operation(fixture().server);
  std::set<int64_t> found;
  const bool refused = base::refuses([&] {
    const auto matcher = Matcher::parse(filter, parse_context(operation.op));
    for (const auto& one : fixture().all) {
      if (matcher->matches(one)) found.insert(one["_id"].to_int64());
    }
  });
  return refused ? std::nullopt : std::optional(found);
}

bool run(base::BytesView input) {
  Choices choices(input);
  const bson::Document filter = query_grammar().document("filter", choices), sort = query_grammar().document("sort", choices),
                       projection = query_grammar().document("projection", choices);
  const auto indexed = ids(find("c", filter, {}, {})), scanned = ids(find("d", filter, {}, {})), alone = matched(filter);
  if (server::testing::is_random(as_value(filter))) return indexed.has_value();
  // One may meet a document that another never looks at, over which the filter's expression can't be computed.
  if (indexed && scanned) check_made(*indexed == *scanned, "indexes find what a scan finds", {as_value(filter)});
  if (scanned && alone) check_made(*scanned == *alone, "a scan finds what matches", {as_value(filter)});
  const auto sorted = ids(find("c", filter, {}, sort));
  if (sorted && scanned) check_made(*sorted == *scanned, "a sort keeps all documents", {as_value(filter), as_value(sort)});
  find("c", filter, projection, sort);
  return indexed.has_value();
}

std::vector<base::Bytes> seeds() {
  return server::testing::accepted_choices(3, 60, 80, run);
}

const base::FuzzTarget target("made_query", run, seeds);

}  // namespace
