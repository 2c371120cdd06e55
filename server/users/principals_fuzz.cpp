// Any document is taken as a user, as a role, and as a list of authentication restrictions. Each is refused as an operation is,
// or what it has is written as one that reads the same.
#include "server/users/principals.h"

#include "base/fuzz_target.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"

namespace {

using namespace server;
using base::check;

void check_restrictions(const access::Restrictions& restrictions) {
  const bson::Document list = restrictions.array();
  const auto again = access::Restrictions::parse(list);
  check(again.array().bytes() == list.bytes() && again.empty() == restrictions.empty(),
        "restrictions are read as they were written");
  for (const char* client : {"127.0.0.1", "10.1.2.3", "::1", "::ffff:10.1.2.3", "", "no address"}) {
    check(again.allow(client, "127.0.0.1") == restrictions.allow(client, "127.0.0.1"));
    check(!restrictions.empty() || restrictions.allow(client, ""), "nothing is restricted without entries");
  }
}

void check_names(const std::vector<users::Name>& names) {
  bson::ArrayBuilder list;
  users::append_names(list, names);
  const bson::Value written = list.done_value();
  const auto again = users::read_names(written.view().as_document());
  check(again.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i)
    check(again[i].name == names[i].name && again[i].db == names[i].db, "a role's name is read as it was written");
}

bool check_user(bson::DocumentView document) {
  std::optional<users::User> user;
  if (base::refuses([&] { user = users::read_user(document); })) return false;
  check(!user->name.name.empty() && !user->name.db.empty() && user->sha1.size() <= 1 && user->sha256.size() <= 1);
  check_names(user->roles);
  check_restrictions(user->restrictions);
  return true;
}

bool check_role(bson::DocumentView document) {
  std::optional<users::Role> role;
  if (base::refuses([&] { role = users::read_role(document); })) return false;
  check(!users::principal_id(role->name).empty());
  for (const auto& one : role->privileges.all())
    check(access::Privilege::parse(one.document()).resource == one.resource, "a privilege is read as it was written");
  check_names(role->roles);
  check_restrictions(role->restrictions);
  return true;
}

bool check_list(bson::DocumentView document) {
  std::optional<access::Restrictions> restrictions;
  if (base::refuses([&] { restrictions = access::Restrictions::parse(document); })) return false;
  check_restrictions(*restrictions);
  return true;
}

bool run(base::BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  const bool user = check_user(document.value()), role = check_role(document.value()), list = check_list(document.value());
  return user || role || list;
}

std::vector<base::Bytes> seeds() {
  const std::string key = "'AAAAAAAAAAAAAAAAAAAAAAAAAAA='", long_key = "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='";
  std::vector<base::Bytes> out;
  for (const std::string& text :
       {"{user: 'ann', db: 'shop', credentials: {'SCRAM-SHA-1': {iterationCount: 10000, salt: 'AAAAAAAAAAAAAAAAAAAAAA==', "
        "storedKey: " +
            key + ", serverKey: " + key +
            "}, 'SCRAM-SHA-256': {iterationCount: 15000, salt: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==', storedKey: " +
            long_key + ", serverKey: " + long_key + "}}, roles: [{role: 'readWrite', db: 'shop'}]}",
        std::string("{user: 'CN=ann', db: '$external', credentials: {external: true}, roles: [],"
                    " authenticationRestrictions: [{clientSource: ['10.0.0.0/8', '::1'], serverAddress: ['127.0.0.1']}]}"),
        std::string(
            "{role: 'reader', db: 'shop', privileges: [{resource: {db: 'shop', collection: ''}, actions: ['find']}],"
            " roles: [{role: 'read', db: 'other'}], authenticationRestrictions: [{clientSource: ['::ffff:10.0.0.0/4']}]}"),
        std::string("{'0': {clientSource: ['2001:db8::/32']}, '1': {serverAddress: ['192.168.0.1']}}")}) {
    out.push_back(bson::json(text).bytes());
  }
  return out;
}

const base::FuzzTarget target("principals", run, seeds);

}  // namespace
