// Any document as a set's configuration: refused as an operation is, or one whose own document reads the same and follows it.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "replication/set_config.h"

namespace {

using namespace replication;

bool run(base::BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  SetConfig config;
  if (base::refuses([&] { config = parse_set_config(document.value()); })) return false;
  const auto full = config.document();
  const auto again = parse_set_config(full.view());
  base::check(again.document().bytes() == full.bytes(), "a configuration reads as it was written");
  base::refuses([&] { check_reconfig(config, again, false); });
  return true;
}

std::vector<base::Bytes> seeds() {
  return {
      bson::json("{_id: 'rs', members: [{_id: 0, host: 'a:1'}]}").bytes(),
      bson::json("{_id: 'rs', version: 3, term: NumberLong(2), members: [{_id: 0, host: 'a:1', priority: 2, tags: {dc: 'x'}}, "
                 "{_id: 1, host: 'b:2', priority: 0, hidden: true}, {_id: 2, host: 'c:3', arbiterOnly: true}], "
                 "settings: {electionTimeoutMillis: 900, chainingAllowed: true, getLastErrorModes: {two: {dc: 1}}}}")
          .bytes()};
}

const base::FuzzTarget target("set_config", run, seeds);

}  // namespace
