#include "bson/hashed_key.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "bson/builder.h"
#include "bson/json.h"

namespace bson {
namespace {

int64_t key_of(const std::string& text) {
  return hashed_key(value_from_json(text).or_throw());
}

}  // namespace

// MongoDB's own tests of hashed indexes have the same numbers.
TEST_CASE("hashed keys are MongoDB's") {
  CHECK(key_of("42") == -944302157085130861);
  CHECK(key_of("0") == 4854801880128277513);
  CHECK(key_of("1") == 5902408780260971510);
  CHECK(key_of("-1") == 1140205862565771219);
  CHECK(key_of("-2147483648") == 6165898260261354870);
  CHECK(key_of("2147483647") == 1143184177162245883);
  CHECK(key_of("MinKey()") == 7961148599568647290);
  CHECK(key_of("MaxKey()") == 5504842513779440750);
  CHECK(key_of("{$undefined: true}") == 40158834000849533);
  CHECK(key_of("null") == 2338878944348059895);
  CHECK(key_of("'abc'") == 8478485326885698097);
  CHECK(key_of("{$symbol: 'abc'}") == 8478485326885698097);
  CHECK(key_of("''") == 2049396243249673340);
  CHECK(key_of("{a: 'abc', b: NumberLong(123)}") == 4771603801758380216);
  CHECK(key_of("{}") == 7980500913326740417);
  CHECK(key_of("['bar', 'baz', 'qux']") == -2938911267422831539);
  CHECK(key_of("[]") == 8849948234993459283);
  CHECK(key_of("{$binary: {base64: 'AAECAwQG', subType: '00'}}") == 7252465090394235301);
  CHECK(key_of("{$binary: {base64: 'AAECAwQG', subType: '80'}}") == 5736670452907618262);
  CHECK(key_of("{$binary: {base64: 'AAECAwQFBgcICQoLDA0ODw==', subType: '04'}}") == 6084661258071355978);
  CHECK(key_of("ObjectId('010203040506070809101112')") == -5588663249627035708);
  CHECK(key_of("ObjectId('000000000000000000000000')") == -4293118519463489418);
  CHECK(key_of("true") == 6405873908747105701);
  CHECK(key_of("false") == 6289544573401934092);
  CHECK(hashed_key(Value(Date{0x5566778811223344})) == 4476222765095560467);
  CHECK(hashed_key(Value(Date{0})) == -1178696894582842035);
  CHECK(key_of("{$regularExpression: {pattern: 'mongodb', options: ''}}") == -7275792090268217043);
  CHECK(key_of("{$regularExpression: {pattern: '.*', options: 'i'}}") == 7095855029187981886);
  CHECK(key_of("{$dbPointer: {$ref: 'c', $id: {$oid: '010203040506070809101112'}}}") == 940175826736461384);
  CHECK(key_of("{$code: 'func f() { return 1; }'}") == 6861638109178014270);
  CHECK(key_of("{$code: 'func f() { return 1; }', $scope: {c: true}}") == 501342939894575968);
}

TEST_CASE("numbers are hashed by their whole part") {
  for (const char* same : {"3", "NumberLong(3)", "3.1", "3.99", "NumberDecimal('3')", "NumberDecimal('3.2')"})
    CHECK(key_of(same) == key_of("3.0"));
  for (const char* zero : {"0.456", "-0.0", "NumberDecimal('NaN')", "NumberDecimal('-0')"}) CHECK(key_of(zero) == key_of("0"));
  CHECK(hashed_key(Value(std::nan(""))) == key_of("0"));
  CHECK(hashed_key(Value(std::numeric_limits<double>::max())) == 921523596458303250);
  CHECK(key_of("NumberLong('9223372036854775807')") == 921523596458303250);
  CHECK(key_of("NumberDecimal('1E400')") == 921523596458303250);
  CHECK(hashed_key(Value(-std::numeric_limits<double>::max())) == 4532067210535695462);
  CHECK(key_of("NumberLong('-9223372036854775808')") == 4532067210535695462);
  CHECK(key_of("{a: 3.1, b: [3, {c: 3.0}]}") == key_of("{a: 3, b: [3.1, {c: NumberLong(3)}]}"));
}

TEST_CASE("what differs has different hashed keys") {
  CHECK(key_of("3") != key_of("'3'"));
  CHECK(key_of("[0, 1]") != key_of("{'0': 0, '1': 1}"));
  CHECK(key_of("{a: {}, b: 1}") != key_of("{a: {b: 1}}"));
  CHECK(key_of("{a: 1}") != key_of("{b: 1}"));
  CHECK(hashed_key(Value(Date{5000})) != hashed_key(Value(Timestamp{5, 0})));
}

}  // namespace bson
