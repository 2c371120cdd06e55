#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {

namespace {

Options options_for(const std::string& path) {
  Options options;
  options.dbpath = path;
  options.cache_gb = 0.25;
  return options;
}

// Returns whether `whole` has everything that `part` has.
bool covers(const bson::ValueView& whole, const bson::ValueView& part) {
  if (part.is_object() && whole.is_object()) {
    for (const auto& field : part.as_document()) {
      if (!covers(whole.as_document().find(field.name), field)) return false;
    }
    return true;
  }
  if (part.is_array() && whole.is_array()) {
    if (part.as_document().count() != whole.as_document().count()) return false;
    auto other = whole.as_document().begin();
    for (const auto& element : part.as_document()) {
      if (!covers(*other, element)) return false;
      ++other;
    }
    return true;
  }
  return bson::equal(whole, part);
}

void check_covers(const bson::Document& command, const bson::Document& reply, const std::string& wanted) {
  INFO(bson::to_shell(command) << "\n  answered " << bson::to_shell(reply));
  const bson::Document part = bson::json(wanted);
  CHECK(covers(bson::ValueView(bson::Type::object, reply.view().bytes()),
               bson::ValueView(bson::Type::object, part.view().bytes())));
}

}  // namespace

TestServer::TestServer() : directory_(std::make_unique<storage::TemporaryDirectory>()) {
  assembly_ = std::make_unique<Assembly>(options_for(directory_->path()));
}

TestServer::TestServer(const std::string& path) : assembly_(std::make_unique<Assembly>(options_for(path))) {}

TestServer::TestServer(SetOfOne) : directory_(std::make_unique<storage::TemporaryDirectory>()) {
  Options options = options_for(directory_->path());
  options.repl_set = "rs";
  assembly_ = std::make_unique<Assembly>(options);
  expect("admin", R"({replSetInitiate: {_id: "rs", members: [{_id: 0, host: "localhost:27017"}]}})", "{ok: 1}");
  base::check(base::testing::wait_until([&] { return run("admin", bson::json("{hello: 1}"))["isWritablePrimary"].truthy(); }),
              "a set of one member elects it");
}

void TestServer::expect(const std::string& db, const std::string& command, const std::string& reply) {
  const bson::Document document = bson::json(command);
  check_covers(document, run(db, document), reply);
}

void TestServer::expect(const bson::Document& command, const std::string& reply) {
  check_covers(command, run(command), reply);
}

std::string TestServer::documents(const std::string& command) {
  const bson::Document reply = run(bson::json(command));
  const auto cursor = reply["cursor"];
  if (!cursor.is_object()) return bson::to_shell(reply);
  std::string text = bson::to_shell(cursor.as_document()["firstBatch"]);
  // Tests write it without the shell's inner spaces.
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"{ ", "{"}, {" }", "}"}, {"[ ", "["}, {" ]", "]"}}) {
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at)) text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace server
