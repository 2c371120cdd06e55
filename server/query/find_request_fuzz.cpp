// Any document is taken as a find command: it is refused as an operation is, or gives options that are within their ranges and a
// query that can be explained.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/find_request.h"
#include "server/query/matcher.h"
#include "server/query/parse_context.h"
#include "server/query/projection.h"
#include "server/query/sort_pattern.h"
#include "server/query/test_support.h"

namespace {

using namespace server::query;

TestServer& server() {
  static TestServer one;
  return one;
}

// This function parses the options' contents as the executor would.
void use(const Query& query, const ::server::OperationContext& op) {
  const ParseContext context = parse_context(op, query.let);
  const auto matcher = Matcher::parse(query.filter, context);
  if (!query.projection.empty()) Projection::parse(query.projection, matcher.get(), context);
  if (!query.sort.empty()) SortPattern::parse(query.sort);
}

bool run(base::BytesView input) {
  const auto body = bson::validate(input);
  if (!body.ok()) return false;
  TestServer::Operation operation(server());
  const ::server::Request request{"find", "test", body.value(), {}};
  FindRequest find;
  if (base::refuses([&] { find = parse_find(operation.op, request); })) return false;
  base::check(find.batch_size >= 0 && find.query.skip >= 0 && find.query.limit >= 0 && find.query.ns.starts_with("test."));
  base::check(!find.await_data || find.tailable);
  for (const bson::Document* part :
       {&find.query.filter, &find.query.projection, &find.query.sort, &find.query.min, &find.query.max, &find.query.let})
    base::check(bson::validate(part->bytes()).ok());
  base::refuses([&] { use(find.query, operation.op); });
  return true;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> all;
  for (const char* one :
       {"{find: 'c'}", "{find: 'c', filter: {a: {$gt: 1}}, projection: {a: 1}, sort: {a: -1}, skip: 1, limit: NumberLong(5)}",
        "{find: 'c', hint: 'a_1', min: {a: 1}, max: {a: 9}, returnKey: true, showRecordId: false}",
        "{find: 'c', filter: {$expr: {$eq: ['$a', '$$x']}}, let: {x: {$add: [1, 2]}}, allowDiskUse: true}",
        "{find: 'c', tailable: true, awaitData: true, noCursorTimeout: true, batchSize: 0, sort: {$natural: 1}}",
        "{find: 'c', collation: {locale: 'simple'}, singleBatch: true, hint: {$natural: -1}, readOnce: false}"})
    all.push_back(bson::json(one).bytes());
  return all;
}

const base::FuzzTarget target("find_request", run, seeds);

}  // namespace
