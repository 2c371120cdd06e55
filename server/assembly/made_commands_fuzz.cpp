// A few commands one after the other, on a server with a few documents: finds, aggregations, writes, changes of the schema and
// others. Each is answered by a valid document, in which no refusal is a failure of the server itself.
//
// The input chooses what the grammar makes (server/testing/query_grammar.h).
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/assembly/assembly.h"
#include "server/testing/query_grammar.h"
#include "storage/testing/temporary_store.h"

namespace {

using bson::testing::Choices;
using server::testing::check_made;
using server::testing::query_grammar;

constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 4 * bson::nesting_max, .utf8 = true};

struct Server {
  storage::TemporaryDirectory directory;
  server::Assembly assembly{options()};

  server::Options options() const {
    server::Options options;
    options.dbpath = directory.path();
    options.cache_gb = 0.25;
    options.port = 0;
    options.unix_socket = false;
    options.slow_op_ms = 60'000;
    return options;
  }
};

bson::Document sent_to_server(bson::DocumentView command) {
  static Server one;
  return one.assembly.run("test", command);
}

bson::Document answer(bson::DocumentView command) {
  bson::Document reply = sent_to_server(command);
  const bson::ValueView sent(bson::Type::object, command.bytes()), got(bson::Type::object, reply.bytes());
  check_made(bson::validate(reply.bytes(), made).ok(), "a reply is a valid document", {sent});
  check_made(reply["ok"].exists(), "a reply says whether the command succeeded", {sent, got});
  check_made(reply["ok"].truthy() || reply["code"].to_int64() != static_cast<int>(base::ErrorCode::internal_error),
             "a command is refused in order", {sent, got});
  return reply;
}

// Each input finds the same collections. They are kept from input to input, since making one takes long.
void start_over() {
  const bson::Document listed = answer(bson::json("{listCollections: 1}"));
  for (const bson::Element& one : listed["cursor"].as_document()["firstBatch"].as_document()) {
    const std::string name(one.as_document()["name"].as_string());
    const bool plain = (name == "c" || name == "d") && !one.as_document()["options"].as_document().has("capped");
    if (plain) {
      answer(bson::json("{delete: '" + name + "', deletes: [{q: {}, limit: 0}]}"));
    } else if (!name.starts_with("system.")) {
      answer(bson::json("{drop: '" + name + "'}"));
    }
  }
  for (const std::string name : {"c", "d"}) {
    answer(bson::json("{dropIndexes: '" + name + "', index: '*'}"));
    answer(bson::json(
        "{insert: '" + name +
        "', documents: [{_id: 1, a: 1, b: {c: 2, d: 'x'}, l: [1, 2, {k: 1}]}, {_id: 2, a: 2, s: 'some text', o: [{k: 1, "
        "a: 2}, {k: 2}]}, {_id: 3, d: ISODate('2024-02-29T12:00:00Z'), x: null}]}"));
  }
  answer(bson::json("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a'}, {key: {l: 1}, name: 'l'}]}"));
}

bool run(base::BytesView input) {
  Choices choices(input);
  const bson::Value commands = query_grammar().make("commands", choices);
  if (!commands.view().is_array()) return false;
  start_over();
  bool accepted = false;
  for (const bson::Element& command : commands.view().as_document()) {
    if (!command.is_object() || command.as_document().empty()) continue;
    bson::Builder limited;
    limited.append_all(command.as_document());
    if (command.as_document().first().name != "getMore") limited.append("maxTimeMS", 5000);
    accepted = answer(limited.done())["ok"].truthy() || accepted;
  }
  return accepted;
}

std::vector<base::Bytes> seeds() {
  return server::testing::accepted_choices(4, 24, 150, run);
}

const base::FuzzTarget target("made_commands", run, seeds);

}  // namespace
