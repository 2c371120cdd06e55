// Any document is taken as a privilege: it is refused as an operation is, or its own document is read as the same privilege,
// which can be granted and taken away again.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/access/privileges.h"

namespace {

using namespace server::access;
using base::check;

bool run(base::BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  Privilege privilege;
  if (base::refuses([&] { privilege = Privilege::parse(document.value()); })) return false;
  const bson::Document written = privilege.document();
  const Privilege again = Privilege::parse(written);
  check(again.resource == privilege.resource && again.actions == privilege.actions, "a privilege is read as it was written");
  check(again.document().bytes() == written.bytes());

  Privileges granted;
  granted.add(privilege);
  granted.add(again);
  check(granted.all().size() == 1, "one resource has one entry");
  const auto& [kind, db, collection] = privilege.resource;
  const bool all = privilege.actions.empty();
  check(granted.allow(privilege.actions, Resource::of_cluster()) == (all || kind != ResourcePattern::Kind::names));
  // Names with "@" stand for other names.
  if (kind == ResourcePattern::Kind::names && !db.empty() && db.find('@') == std::string::npos && !collection.empty())
    check(granted.allow(privilege.actions, Resource::of_collection(db, collection)) && granted.touch(db) &&
              granted.use(db, collection),
          "a privilege for a collection covers it");
  granted.remove(again);
  check(granted.all().empty(), "what was granted can be taken away");
  return true;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const char* text : {"{resource: {db: 'shop', collection: 'orders'}, actions: ['find', 'insert']}",
                           "{resource: {db: 'shop@*', collection: ''}, actions: ['find', 'merge', 'commit']}",
                           "{resource: {db: '', collection: 'system.buckets.'}, actions: []}",
                           "{resource: {cluster: true}, actions: ['serverStatus', 'createSnapshot']}",
                           "{resource: {anyResource: true}, actions: ['anyAction']}"}) {
    out.push_back(bson::json(text).bytes());
  }
  return out;
}

const base::FuzzTarget target("privileges", run, seeds);

}  // namespace
