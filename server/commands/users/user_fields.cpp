#include "server/commands/users/user_fields.h"

#include "base/error.h"
#include "bson/builder.h"
#include "server/access/scram.h"

namespace server {

using access::ScramHash;
using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::bad_value, why);
}

std::vector<std::string> read_mechanisms(const Arguments& arguments, const users::Logins& logins) {
  std::vector<std::string> out;
  for (const auto& each : arguments.required_array("mechanisms")) {
    if (!each.is_string()) refuse("mechanisms must be an array of strings");
    const std::string name(each.as_string());
    if (!access::scram_hash(name)) refuse("Unknown auth mechanism '" + name + "'");
    if (!logins.offers(name)) refuse("Auth mechanism '" + name + "' is not enabled");
    out.push_back(name);
  }
  if (out.empty()) refuse("mechanisms field must not be empty");
  return out;
}

}  // namespace

UserFields::UserFields(OperationContext& op, const Request& request, const Name& name) {
  const Arguments arguments(request);
  if (const auto given = arguments.string("pwd")) password = std::string(*given);
  digest_password = arguments.boolean("digestPassword").value_or(true);
  if (request.body.has("mechanisms")) mechanisms = read_mechanisms(arguments, logins_of(op));
  custom_data = arguments.object("customData");
  if (request.body.has("roles")) roles = role_names(arguments, "roles", request.db);
  if (const auto list = arguments.array("authenticationRestrictions")) restrictions = access::Restrictions::parse(*list);
  if (name.db == users::external_db) {
    if (password) refuse("Cannot set the password for users defined on the '$external' database");
    if (mechanisms) refuse("Cannot set mechanisms for users on the '$external' database");
  }
  if (password && password->empty()) refuse("Password cannot be empty");
  if (password && password->find('\0') != std::string::npos) refuse("Password cannot contain NUL characters");
}

void UserFields::append_credentials(OperationContext& op, const Name& name, bson::Builder& out) const {
  users::Logins& logins = logins_of(op);
  auto credentials = out.object("credentials");
  if (name.db == users::external_db) {
    credentials.append("external", true);
    return;
  }
  const auto wanted = [&](ScramHash hash) {
    const std::string_view mechanism = access::mechanism_name(hash);
    if (!mechanisms) return logins.offers(mechanism) && (digest_password || hash == ScramHash::sha1);
    return std::find(mechanisms->begin(), mechanisms->end(), mechanism) != mechanisms->end();
  };
  for (const ScramHash hash : {ScramHash::sha1, ScramHash::sha256}) {
    if (!wanted(hash)) continue;
    if (!digest_password && hash == ScramHash::sha256) refuse("Use of SCRAM-SHA-256 requires undigested passwords");
    const auto secret = digest_password ? access::scram_secret(hash, name.name, *password) : password;
    if (!secret) refuse("Error preflighting normalization: the password holds characters that SASLprep prohibits");
    const int64_t count =
        hash == ScramHash::sha1 ? logins.settings().iterations_sha1.load() : logins.settings().iterations_sha256.load();
    credentials.append(access::mechanism_name(hash),
                       access::make_scram_credentials(hash, *secret, static_cast<int>(count)).document());
  }
}

void UserFields::append_others(bson::Builder& out) const {
  if (custom_data) out.append("customData", *custom_data);
  if (restrictions) out.append_array("authenticationRestrictions", restrictions->array());
  if (!roles) return;
  auto list = out.array("roles");
  users::append_names(list, *roles);
}

}  // namespace server
