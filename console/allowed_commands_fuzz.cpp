// The input is a command. The console passes it on, or says why not; what it passes on to read, it passes on to write; and a
// pipeline that it passes on has no stage that writes.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "console/allowed_commands.h"

namespace {

bool writes_somewhere(const bson::ValueView& value) {
  if (!value.is_object() && !value.is_array()) return false;
  for (const bson::Element& field : value.as_document()) {
    if (value.is_object() && (field.name == "$out" || field.name == "$merge")) return true;
    if (writes_somewhere(field)) return true;
  }
  return false;
}

bool run(base::BytesView input) {
  const auto command = bson::validate(input);
  if (!command.ok()) return false;
  const auto reading = console::check_command("shop", command.value(), false);
  const auto writing = console::check_command("shop", command.value(), true);
  if (reading.ok()) {
    base::check(writing.ok() && writing.value().name == reading.value().name, "who may write may read");
  }
  if (!writing.ok()) return false;
  base::check(command.value().first().name == writing.value().name);
  if (writing.value().name == "aggregate") base::check(!writes_somewhere(command.value()["pipeline"]));
  return true;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const char* command : {"{find: 'items', filter: {x: 1}, batchSize: 100}", "{profile: -1}", "{log: 1, limit: 20}",
                              "{aggregate: 'items', pipeline: [{$match: {x: 1}}, {$facet: {a: [{$limit: 1}]}}], cursor: {}}",
                              "{merge: 'work', mode: 'ours', dryRun: true}", "{killOp: 1, op: 7}"})
    out.push_back(bson::json(command).bytes());
  return out;
}

const base::FuzzTarget target("allowed_commands", run, seeds);

}  // namespace
