// Any document is taken as a filter, a projection and a sort, of itself: it is refused with an OperationError, or safe to use.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/core/allowance.h"
#include "server/query/match/node.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "server/query/plan/bounds.h"
#include "server/query/projection.h"
#include "server/query/query_shape.h"
#include "server/query/sort_pattern.h"

namespace {

using namespace server::query;

constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 2 * bson::nesting_max};

ParseContext with_expressions() {
  return {.expressions = expression_compiler(), .let = {}, .op = nullptr, .allowance = nullptr};
}

bool check_filter(bson::DocumentView filter, bson::DocumentView document) {
  std::unique_ptr<Matcher> matcher;
  if (base::refuses([&] { matcher = Matcher::parse(filter, with_expressions()); })) return false;
  base::refuses([&] {
    std::optional<std::string> position;
    base::check(matcher->matches(document) == matcher->matches(document, position));
  });
  bson::Builder shown;
  matcher->root().append(shown);
  base::check(bson::validate(shown.done().bytes(), made).ok());
  server::OperationContext* const nobody = nullptr;
  server::Allowance unlimited(nobody, nullptr);
  for (const auto* node : plan::flatten(matcher->root())) plan::bounds_of(*node, filter.first().name, true, {}, unlimited);
  matcher->equalities();
  query_shape(filter, {}, {}, nullptr);
  base::refuses([&] { Projection::parse(document, matcher.get(), with_expressions())->apply(document); });
  return true;
}

bool check_projection(bson::DocumentView projection, bson::DocumentView document) {
  return !base::refuses([&] {
    const auto projected = Projection::parse(projection, nullptr, with_expressions())->apply(document);
    base::check(bson::validate(projected.bytes(), made).ok());
  });
}

bool check_sort(bson::DocumentView pattern, bson::DocumentView document) {
  return !base::refuses([&] { SortPattern::parse(pattern).key(document); });
}

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok()) return false;
  // The document that they are used on follows, or is the same.
  const auto second = bson::validate(input.substr(first.value().size()));
  const bson::DocumentView document = second.ok() ? second.value() : first.value();
  const bool filter = check_filter(first.value(), document), projection = check_projection(first.value(), document),
             sort = check_sort(first.value(), document);
  return filter || projection || sort;
}

std::vector<base::Bytes> seeds() {
  const auto document =
      bson::json("{_id: 1, a: [1, {b: 2}, 'x'], b: {c: 5}, s: 'some text', d: ISODate('2024-01-01T00:00:00Z')}").bytes();
  std::vector<base::Bytes> all;
  for (const char* one :
       {"{a: 1}", "{a: {$gt: 1, $lte: 5}, 'b.c': {$in: [5, /x/, null]}}",
        "{$or: [{s: /^some/i}, {$nor: [{a: {$exists: false}}]}]}",
        "{a: {$elemMatch: {b: 2}}, s: {$regex: 'te.t', $options: 'i'}}", "{a: {$all: [{$elemMatch: {b: 2}}]}, s: {$size: 3}}",
        "{b: {$type: ['object', 3]}, a: {$not: {$mod: [2, 1]}}}", "{$expr: {$gt: ['$b.c', 4]}}", "{a: {$bitsAllSet: [0]}}",
        "{a: {$slice: [1, 1]}, 'b.c': 1}", "{a: 1, 'b.c': -1}", "{s: 0, _id: 0}",
        "{x: {$add: ['$b.c', 1]}, a: {$elemMatch: {b: {$gt: 1}}}}"})
    all.push_back(bson::json(one).bytes() + document);
  return all;
}

const base::FuzzTarget target("filter", run, seeds);

}  // namespace
