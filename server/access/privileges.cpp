#include "server/access/privileges.h"

#include <algorithm>

#include "base/error.h"

namespace server::access {

using base::ErrorCode;
using base::OperationError;

bson::Document Privilege::document() const {
  std::vector<std::string_view> names;
  if (actions.has(Action::anyAction)) {
    names.push_back(action_name(Action::anyAction));
  } else {
    for (size_t i = 0; i < action_count; ++i) {
      if (actions.has(static_cast<Action>(i))) names.push_back(action_name(static_cast<Action>(i)));
    }
    std::sort(names.begin(), names.end());
  }
  bson::Builder out;
  out.append("resource", resource.document());
  {
    auto list = out.array("actions");
    for (const std::string_view name : names) list.append(name);
  }
  return out.done();
}

Privilege Privilege::parse(bson::DocumentView document) {
  Privilege privilege;
  for (const auto& field : document) {
    if (field.name != "resource" && field.name != "actions")
      throw OperationError(ErrorCode::failed_to_parse, "Unknown privilege field '" + std::string(field.name) + "'");
  }
  const auto resource = document.find("resource"), actions = document.find("actions");
  if (!resource.is_object()) throw OperationError(ErrorCode::failed_to_parse, "a privilege must have an object 'resource'");
  if (!actions.is_array()) throw OperationError(ErrorCode::failed_to_parse, "a privilege must have an array 'actions'");
  privilege.resource = ResourcePattern::parse(resource.as_document());
  for (const auto& name : actions.as_document()) {
    const auto action = name.is_string() ? find_action(name.as_string()) : std::nullopt;
    if (!action) {
      throw OperationError(ErrorCode::failed_to_parse, "Unrecognized action privilege string: " +
                                                           (name.is_string() ? std::string(name.as_string()) : std::string()));
    }
    privilege.actions.add(*action);
  }
  return privilege;
}

void Privileges::add(const Privilege& privilege) {
  for (Privilege& known : privileges_) {
    if (known.resource == privilege.resource) return known.actions.add(privilege.actions);
  }
  privileges_.push_back(privilege);
}

void Privileges::add(const Privileges& others) {
  for (const Privilege& one : others.all()) add(one);
}

void Privileges::remove(const Privilege& privilege) {
  for (Privilege& known : privileges_) {
    if (known.resource == privilege.resource) known.actions.remove(privilege.actions);
  }
  std::erase_if(privileges_, [](const Privilege& one) { return one.actions.empty(); });
}

bool Privileges::allow(const ActionSet& actions, const Resource& resource) const {
  ActionSet wanting = actions;
  for (const Privilege& one : privileges_) {
    if (wanting.empty()) return true;
    if (one.resource.covers(resource)) wanting.remove(one.actions);
  }
  return wanting.empty();
}

bool Privileges::touch(std::string_view db) const {
  return std::any_of(privileges_.begin(), privileges_.end(), [&](const Privilege& one) {
    if (one.resource.kind == ResourcePattern::Kind::names && !one.resource.collection.empty())
      return one.resource.covers(Resource::of_collection(db, one.resource.collection));
    return one.resource.covers(Resource::of_database(db));
  });
}

bool Privileges::use(std::string_view db, std::string_view collection) const {
  return std::any_of(privileges_.begin(), privileges_.end(),
                     [&](const Privilege& one) { return one.resource.covers(Resource::of_collection(db, collection)); });
}

void Privileges::append_to(bson::ArrayBuilder& out) const {
  for (const Privilege& one : privileges_) out.append(one.document());
}

}  // namespace server::access
