// Any value is taken as an expression and computed over a document. It is refused as an operation is, or gives a value that fits
// into a valid document, with texts that are UTF-8 if those of the input are.
//
// The input is two documents: {e: <expression>}, and the one that it is computed over.
#include "base/fuzz_target.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/expressions/expression.h"

namespace {

using namespace server::query;

constexpr int64_t now_ms = 1'700'000'000'000;

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok()) return false;
  const auto second = bson::validate(input.substr(first.value().size()));
  if (!second.ok()) return false;
  const bool utf8 =
      bson::validate(first.value().bytes(), {.utf8 = true}).ok() && bson::validate(second.value().bytes(), {.utf8 = true}).ok();
  Scope scope(now_ms);
  ExpressionPtr expression;
  if (base::refuses([&] { expression = parse_expression(first.value()["e"], scope); })) return false;
  base::refuses([&] {
    Frame frame(scope, second.value());
    const bson::Value value = expression->evaluate(frame);
    bson::Builder out;
    out.append("e", value);
    base::check(
        bson::validate(out.done().bytes(), {.bytes_max = size_t{1} << 30, .depth_max = 4 * bson::nesting_max, .utf8 = utf8})
            .ok());
  });
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto document =
      bson::json("{_id: 1, a: 5, l: [3, {x: 1}, 'y'], s: 'some text', d: ISODate('2024-02-29T12:00:00Z'), n: null, o: {p: 1.5}}")
          .bytes();
  std::vector<base::Bytes> all;
  for (const char* one :
       {"{e: {$add: ['$a', 1, {$multiply: ['$o.p', 2]}]}}", "{e: {$cond: [{$gt: ['$a', 3]}, '$s', '$$REMOVE']}}",
        "{e: {$map: {input: '$l', as: 'v', in: {$concat: ['x', {$toString: '$$v'}]}}}}",
        "{e: {$reduce: {input: [1, 2], initialValue: 0, in: {$add: ['$$value', '$$this']}}}}",
        "{e: {$dateToString: {date: '$d', format: '%Y-%m-%d %H:%M', timezone: '+01:30'}}}",
        "{e: {$dateFromString: {dateString: '2024-01-05', format: '%Y-%m-%d'}}}",
        "{e: {$dateAdd: {startDate: '$d', unit: 'month', amount: 1}}}", "{e: {$substrCP: ['$s', 1, 3]}}",
        "{e: {$regexFindAll: {input: '$s', regex: /e(x)?/}}}", "{e: {$sortArray: {input: '$l', sortBy: {x: 1}}}}",
        "{e: {$let: {vars: {v: '$a'}, in: {$pow: ['$$v', 2]}}}}",
        "{e: {$switch: {branches: [{case: {$eq: ['$a', 5]}, then: 1}], default: 2}}}",
        "{e: {$convert: {input: '$s', to: 'int', onError: 'e', onNull: 'n'}}}", "{e: {$setUnion: ['$l', [3]]}}",
        "{e: {$range: [0, 10, 3]}}", "{e: {$round: [{$trunc: ['$o.p', 1]}, -1]}}", "{e: {$split: ['$s', ' ']}}",
        "{e: {$mergeObjects: ['$o', {q: '$$NOW'}]}}"})
    all.push_back(bson::json(one).bytes() + document);
  return all;
}

const base::FuzzTarget target("expression", run, seeds);

}  // namespace
