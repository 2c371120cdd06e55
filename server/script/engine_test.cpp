#include "server/script/engine.h"

#include <rapidcheck/catch.h>
#include <catch2/catch.hpp>

#include <thread>

#include "base/cpu_time.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/test_generators.h"
#include "server/core/allowance.h"
#include "server/query/test_support.h"

namespace server::script {
namespace {

using bson::Value;
using bson::ValueView;

OperationContext* const nobody = nullptr;

Value run(Engine& engine, std::string_view source, std::vector<ValueView> arguments = {}) {
  return engine.call(engine.compile(source), arguments);
}

std::string error_of(Engine& engine, std::string_view source) {
  try {
    run(engine, source);
  } catch (const base::OperationError& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "";
}

// A value that goes to JavaScript and back is the same, but for types that JavaScript doesn't have.
bool survives(const ValueView& value) {
  switch (value.type()) {
    case bson::Type::code_with_scope:
    case bson::Type::db_pointer:
    case bson::Type::symbol:
    case bson::Type::regex:
    case bson::Type::date: return false;
    case bson::Type::object:
    case bson::Type::array:
      for (const bson::Element& one : value.as_document()) {
        if (!survives(one)) return false;
        // An object of JavaScript has its whole numbers first, and each name once.
        if (value.is_object() &&
            (one.name.empty() || one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos))
          return false;
      }
      return true;
    default: return true;
  }
}

}  // namespace

TEST_CASE("values go to a function and come back as they were") {
  Engine engine(nullptr);
  const Engine::Function same = engine.compile("x => x");
  int checked = 0;
  CHECK(rc::check("values", [&] {
    const Value given((*bson::arbitrary_document()).view());
    if (!survives(given)) return;
    const ValueView argument = given;
    RC_ASSERT(engine.call(same, {&argument, 1}).view().identical(given));
    ++checked;
  }));
  CHECK(checked > 10);
}

TEST_CASE("an engine's memory is the operation's, and goes back") {
  MemoryPool pool(64 << 20, 32 << 20);
  Allowance allowance(nobody, &pool);
  {
    Engine engine(&allowance);
    CHECK(allowance.memory().held() > 0);
    CHECK(error_of(engine, "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)").starts_with("146 "));
    CHECK(run(engine, "1 + 1").view().to_double() == 2);  // it goes on
    CHECK(error_of(engine, "'x'.repeat(1 << 29)") != "");
  }
  CHECK(allowance.memory().held() == 0);
}

TEST_CASE("a function that fills the memory with small things ends with its operation's error") {
  for (size_t mb = 4; mb < 12; ++mb) {
    MemoryPool pool(64 << 20, mb << 20);
    Allowance allowance(nobody, &pool);
    Engine engine(&allowance);
    for (const char* source :
         {"let o = {}; for (;;) o = {o, a: [o], f: () => o}", "let s = new Set(); for (;;) s = new Set([s])",
          "const f = []; for (;;) f.push(new Function('return ' + f.length))", "let l = null; for (;;) l = [l, /x+/]"}) {
      INFO(source << " in " << mb << " MB");
      const std::string error = error_of(engine, source);
      CHECK((error.starts_with("146 ") || error.starts_with("139 ")));
    }
  }
}

TEST_CASE("an object of very many properties ends with its operation's error") {
  bson::Builder fields;
  for (int i = 0; i < 400'000; ++i) fields.append("field" + std::to_string(i), i);
  const Value wide(fields.done().view());
  const ValueView argument = wide;
  for (size_t mb = 4; mb < 48; mb += 3) {
    INFO(mb << " MB");
    MemoryPool pool(64 << 20, mb << 20);
    Allowance allowance(nobody, &pool);
    Engine engine(&allowance);
    CHECK_THROWS_AS(engine.call(engine.compile("x => ({...x})"), {&argument, 1}), base::OperationError);
    CHECK(error_of(engine, "const o = {}; for (let i = 0;; i++) o['k' + i] = i") != "");
    CHECK(error_of(engine, "const a = []; for (let i = 0;; i++) a[i * 2 + 1e6] = i") != "");
    CHECK(error_of(engine, "let a = [0]; for (;;) { a = [...a, ...a]; (() => 1).bind(null, ...a); }") != "");
  }
}

TEST_CASE("the time for objects and their properties follows from their number") {
  constexpr int many = 60'000;
  constexpr double enough_seconds = 10;
  bson::Builder fields;
  for (int i = 0; i < many; ++i) fields.append("field" + std::to_string(i), i);
  const Value wide(fields.done().view());
  const ValueView argument = wide;
  Engine engine(nullptr);
  const Engine::Function same = engine.compile("x => x");
  const base::CpuWatch watch;
  CHECK(engine.call(same, {&argument, 1}).view().identical(wide));
  for (const char* source : {
           "const a = {}, b = {}; for (let i = 0; i < 60000; i++) { a['k' + i] = i; b['k' + i] = true; }",
           "const o = {}, a = []; for (let i = 0; i < 60000; i++) { const one = {}; one['k' + i] = 1; a.push(one); }",
       }) {
    INFO(source);
    CHECK(error_of(engine, "function() { " + std::string(source) + " }") == "");
  }
  CHECK(watch.seconds() < enough_seconds);
}

TEST_CASE("functions of the language end with their operation") {
  query::TestServer server;
  for (const char* source : {
           "for (;;);",
           "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
           "Array.prototype.fill.call({length: 2 ** 53 - 1}, 1)",
           "Array.prototype.reverse.call({length: 2 ** 53 - 2})",
           "Array.prototype.join.call({length: 2 ** 53 - 1}, '')",
           "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 1, 0)",
           "Array.prototype.slice.call({length: 2 ** 32 - 1})",
           "Array.prototype.shift.call({length: 2 ** 53 - 1})",
           "Array.prototype.unshift.call({length: 2 ** 53 - 2}, 1)",
           "Array.prototype.sort.call({length: 2 ** 53 - 1})",
           "Array.prototype.flat.call({length: 2 ** 53 - 1})",
           "[].concat({length: 2 ** 53 - 2, [Symbol.isConcatSpreadable]: true})",
           "new Uint8Array({length: 2 ** 27})",
           "const a = []; a.length = 2 ** 32 - 1; a.sort()",
           "const a = new Array(1e6).fill(1); for (;;) a.indexOf(2)",
           "const a = new Array(1e6).fill(1); for (;;) a.reverse()",
           "const s = 'a'.repeat(4e6); s.indexOf('a'.repeat(2e6) + 'b')",
           "const s = 'a'.repeat(4e6); s.includes('a'.repeat(2e6) + 'b')",
           "const s = 'a'.repeat(4e6); s.split('a'.repeat(2e6) + 'b')",
           "const s = 'a'.repeat(4e6); s.replaceAll('a'.repeat(2e6) + 'b', 'c')",
           "const s = 'a'.repeat(4e6); for (;;) s.lastIndexOf('b')",
           "const s = 'a'.repeat(4e6), r = 'a'.repeat(4e6); for (;;) s === r",
           "const s = '1'.repeat(4e6); for (;;) Number(s)",
           "const b = 2n ** 500000n; for (;;) b * b",
           "const b = 2n ** 1000000n - 1n; for (;;) b.toString()",
           "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity)",
           "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; JSON.stringify(a)",
           "let a = {}; for (let i = 0; i < 60; i++) a = {a, b: a}; JSON.stringify(a, ['c', 'a', 'b'])",
           "/(x*)\\1y/.test('x'.repeat(1e6))",
       }) {
    INFO(source);
    query::TestServer::Operation operation(server);
    OperationContext* const current = &operation.op;
    Allowance allowance(current, &server.services().memory);
    Engine engine(&allowance);
    engine.define_emit([&](const ValueView&, const ValueView&) { operation.op.kill(); });
    CHECK(error_of(engine, "function() { emit(1, 1); " + std::string(source) + " }").starts_with("11601 "));
  }
}

TEST_CASE("an engine without an operation ends at its own limit") {
  Engine engine(nullptr);
  CHECK(error_of(engine, "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)")
            .starts_with("139 InternalError: out of memory"));
}

TEST_CASE("functions run on any thread, one after another") {
  Engine engine(nullptr);
  const Engine::Function deep = engine.compile("function f(n) { return n === 0 ? 0 : 1 + f(n - 1) }");
  const Value depth(100.0);
  for (int i = 0; i < 4; ++i) {
    std::thread([&] {
      const ValueView arguments[] = {depth};
      CHECK(engine.call(deep, arguments).view().to_double() == 100);
    }).join();
  }
  CHECK(error_of(engine, "function f() { return f() }").starts_with("139 InternalError: too much recursion"));
}

TEST_CASE("objects that only look like BSON types are errors or plain objects") {
  Engine engine(nullptr);
  for (const char* source :
       {"({__bsonType: 'ObjectId'})", "({__bsonType: 'ObjectId', __value: 'xyz'})", "({__bsonType: 'Long', __value: {}})",
        "({__bsonType: 'Binary', __value: [0, 'xyz']})", "({__bsonType: 'Decimal128', __value: 'x'})",
        "({__bsonType: 'Timestamp'})", "({get a() { throw 1 }})", "new Proxy({}, {ownKeys() { throw 1 }})"})
    CHECK(error_of(engine, source).starts_with("139 "));
  CHECK(run(engine, "({__bsonType: 'Else', a: 'b'})").view().as_document().bytes() ==
        bson::json("{__bsonType: 'Else', a: 'b'}").bytes());
  CHECK(error_of(engine, "__md5()") == "");
  CHECK(error_of(engine, "__unbase64('!')").starts_with("139 TypeError"));
  CHECK(error_of(engine, "({['a\\0b']: 1})").starts_with("139 "));
}

TEST_CASE("texts that are no UTF-16 come back as UTF-8") {
  Engine engine(nullptr);
  CHECK(run(engine, "'a\\ud800b'").view().as_string() ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(run(engine, "'\\ud83d\\ude00'").view().as_string() == "😀");
}

TEST_CASE("a global name has a value, or a function") {
  Engine engine(nullptr);
  engine.define("seven", Value(7.0));
  engine.define("twice", ValueView(bson::Type::code, Value("function(x) { return 2 * x }").view().bytes()));
  CHECK(run(engine, "twice(seven)").view().to_double() == 14);
}

}  // namespace server::script
