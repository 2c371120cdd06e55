#include "console/allowed_commands.h"

#include <catch2/catch.hpp>

#include "bson/json.h"

namespace console {
namespace {

base::ErrorCode refusal(const char* command, bool writes = false, std::string_view db = "shop") {
  const auto checked = check_command(db, bson::json(command), writes);
  return checked.ok() ? base::ErrorCode::ok : checked.failure().code;
}

}  // namespace

TEST_CASE("the console passes on what its pages ask") {
  for (const char* command :
       {"{serverStatus: 1}", "{find: 'pages', filter: {lang: 'en'}, sort: {_id: 1}, batchSize: 100, maxTimeMS: 1000}",
        "{aggregate: 'pages', pipeline: [{$history: {_id: 7}}], cursor: {batchSize: 10}}", "{diff: 1, from: 'main', to: 'dev'}",
        "{getProof: 1, coll: 'pages', _id: 7}", "{merge: 'dev', dryRun: true}", "{profile: -1}", "{retention: 1}",
        "{log: 1, filter: {author: 'ann'}}", "{listStashes: 1}", "{listRemotes: 1}", "{stashPop: 1, dryRun: true}"})
    CHECK(refusal(command) == base::ErrorCode::ok);
}

TEST_CASE("the console passes on no command that isn't in its list") {
  for (const char* command : {"{insert: 'pages', documents: []}", "{shutdown: 1}", "{eval: 'x'}",
                              "{getMore: 1, collection: 'pages'}", "{FIND: 'pages'}", "{$query: {find: 'pages'}}"}) {
    CHECK(refusal(command) == base::ErrorCode::command_not_found);
    CHECK(refusal(command, true) == base::ErrorCode::command_not_found);
  }
  CHECK(refusal("{}") == base::ErrorCode::failed_to_parse);
}

TEST_CASE("the console writes only where it was told that it may") {
  for (const char* command :
       {"{merge: 'dev'}", "{merge: 'dev', dryRun: false}", "{merge: 'dev', dryRun: 1}", "{createBranch: 'x'}",
        "{killOp: 1, op: 7}", "{resolveConflict: 1, collection: 'pages', _id: 7, take: 'ours'}", "{continueMerge: 1}",
        "{abortMerge: 1}", "{dropSnapshot: 's1'}", "{rebase: 'main'}", "{squash: 'dev~2', message: 'one'}", "{stash: 1}",
        "{stashPop: 1}", "{stashApply: 1}", "{dropStash: 1}", "{fetch: 'origin'}", "{push: 'origin', branch: 'main'}",
        "{pull: 'origin'}"}) {
    CHECK(refusal(command) == base::ErrorCode::unauthorized);
    CHECK(refusal(command, true) == base::ErrorCode::ok);
  }
  CHECK(refusal("{profile: 2}") == base::ErrorCode::bad_value);
  CHECK(refusal("{profile: -1, slowms: 0}") == base::ErrorCode::bad_value);
  CHECK(refusal("{profile: 2}", true) == base::ErrorCode::ok);
}

TEST_CASE("the console passes on no argument that isn't in its list") {
  for (const char* command :
       {"{find: 'pages', tailable: true}", "{find: 'pages', batchSize: 100000}", "{find: 'pages', batchSize: -1}",
        "{serverStatus: 1, lsid: {}}", "{find: 'pages', find: 'other'}", "{aggregate: 'pages', pipeline: {}}",
        "{aggregate: 'pages', pipeline: [], cursor: {batchSize: 5000}}", "{aggregate: 'pages', pipeline: [], cursor: {x: 1}}",
        "{retention: {newest: 1}}", "{log: 1, cursor: 5}", "{push: 'origin', force: true}",
        "{commit: 1, bypassDocumentValidation: true}"})
    CHECK(refusal(command, true) == base::ErrorCode::bad_value);
  CHECK(refusal("{ping: 1}", false, "") == base::ErrorCode::invalid_namespace);
  CHECK(refusal("{ping: 1}", false, std::string_view("a\0b", 3)) == base::ErrorCode::invalid_namespace);
}

TEST_CASE("a pipeline that writes is refused wherever the stage stands") {
  for (const char* command :
       {"{aggregate: 'pages', pipeline: [{$out: 'x'}]}", "{aggregate: 'pages', pipeline: [{$merge: {into: 'x'}}]}",
        "{aggregate: 'pages', pipeline: [{$facet: {a: [{$out: 'x'}]}}]}",
        "{aggregate: 'pages', pipeline: [{$unionWith: {coll: 'x', pipeline: [{$merge: 'y'}]}}]}"})
    CHECK(refusal(command, true) == base::ErrorCode::bad_value);
}

}  // namespace console
