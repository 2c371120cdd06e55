// Fields of a document are compared with those of its other versions, by what leads to them.
#include "server/query/branches/document_fields.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

using base::testing::code_of;

constexpr size_t mb = 1 << 20;
constexpr int interrupted = 11601, exceeded_memory_limit = 146;

struct Fixture {
  MemoryPool pool{1000 * mb, 1000 * mb};
  OperationContext* current = nullptr;  // nobody stops the work
  Allowance allowance{current, &pool};
};

// {<name>: {f0: 0, f1: 1, …}}
bson::Document under_name(const std::string& name, int count) {
  bson::Builder out;
  {
    bson::Builder fields = out.object(name);
    for (int i = 0; i < count; ++i) fields.append("f" + std::to_string(i), i);
  }
  return out.done();
}

TEST_CASE_METHOD(Fixture, "fields are found under the same names, with the same values") {
  const DocumentFields fields(bson::json("{_id: 1, a: {b: 2, c: [], d: {}}, e: [1, {f: 2}], g: {h: {i: 'x'}}}"), allowance);
  std::vector<std::string> paths;
  for (size_t i = 0; i < fields.size(); ++i) paths.push_back(fields.path(i));
  CHECK(paths == std::vector<std::string>{"_id", "a.b", "a.c", "a.d", "e", "g.h.i"});

  const auto same = [&](const char* other) {
    std::string found;
    const std::vector<bool> marks = fields.same_in(bson::json(other));
    for (size_t i = 0; i < marks.size(); ++i) found += marks[i] ? " " + paths[i] : "";
    return found;
  };
  CHECK(same("{_id: 1, a: {b: 2, c: [], d: {}}, e: [1, {f: 2}], g: {h: {i: 'x'}}}") == " _id a.b a.c a.d e g.h.i");
  CHECK(same("{g: {h: {j: 1, i: 'x'}}, a: {b: 3, d: {}}, e: [1, {f: 3}]}") == " a.d g.h.i");
  CHECK(same("{a: 2, b: 2, c: [], i: 'x', g: {i: 'x', h: 'x'}}") == "");
  // A name with a dot leads nowhere else.
  CHECK(same("{'a.b': 2, 'g.h': {i: 'x'}, g: {'h.i': 'x'}}") == "");
  CHECK(same("{}") == "");
}

TEST_CASE_METHOD(Fixture, "of several fields with one name the first is compared") {
  const DocumentFields fields(bson::json("{_id: 1, a: 1, a: 2}"), allowance);
  CHECK(fields.same_in(bson::json("{_id: 1, a: 1, a: 2, b: 3}")).at(1));
  CHECK_FALSE(fields.same_in(bson::json("{_id: 1, a: 2, a: 1}")).at(1));
}

TEST_CASE_METHOD(Fixture, "fields of an object share the names that lead to it") {
  const DocumentFields fields(under_name(std::string(mb, 'x'), 1000), allowance);
  CHECK(fields.path(999) == std::string(mb, 'x') + ".f999");
  CHECK(allowance.memory().held() > mb);
  CHECK(allowance.memory().held() < 2 * mb);
}

TEST_CASE_METHOD(Fixture, "fields are counted while they are gathered") {
  pool.limits().operation_bytes_max = 4 * mb;
  const bson::Document large = under_name("x", 100'000);
  REQUIRE(large.size() < 2 * mb);
  CHECK(code_of([&] { DocumentFields(large, allowance); }) == exceeded_memory_limit);
  CHECK(allowance.memory().held() == 0);
}

TEST_CASE_METHOD(Fixture, "whatever is done with fields stops with its operation") {
  TestServer server;
  TestServer::Operation killed(server);
  killed.op.kill();
  const bson::Document large = under_name(std::string(mb, 'x'), 10'000);
  const DocumentFields fields(large, allowance);
  current = &killed.op;
  CHECK(code_of([&] { DocumentFields(large, allowance); }) == interrupted);
  CHECK(code_of([&] { (void)fields.same_in(large); }) == interrupted);
  CHECK(code_of([&] { (void)fields.path(0); }) == interrupted);
}

}  // namespace
}  // namespace server::query
