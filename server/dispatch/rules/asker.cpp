#include "server/dispatch/rules/asker.h"

#include "versions/database/refs.h"

namespace server::rules {

using access::Resource;

namespace {

constexpr std::string_view all_refs = "*";

}  // namespace

bool Asker::cluster(const ActionSet& actions) const {
  return authority_.privileges.allow(actions, Resource::of_cluster());
}
bool Asker::database(std::string_view db, const ActionSet& actions) const {
  if (db.find('@') == db.npos) return authority_.privileges.allow(actions, Resource::of_database(db));
  return authority_.privileges.allow(actions, Resource::of_database(versions::usual_name(db)));
}
bool Asker::collection(std::string_view db, std::string_view name, const ActionSet& actions) const {
  // "admin.system" and "users" would be the catalog's admin.system.users, and for privileges a collection like any other.
  const std::string_view itself = db.substr(0, db.find('@'));
  if (itself.empty() || itself.find('.') != itself.npos) return false;
  if (db.find('@') == db.npos) return authority_.privileges.allow(actions, Resource::of_collection(db, name));
  return authority_.privileges.allow(actions, Resource::of_collection(versions::usual_name(db), name));
}

bool Asker::target(const ActionSet& actions) const {
  const std::string_view name = named();
  return name.empty() ? database(actions) : collection(request_.db, name, actions);
}

bool Asker::ns(std::string_view ns, const ActionSet& actions) const {
  const size_t dot = ns.find('.');
  return dot == ns.npos ? database(ns, actions) : collection(ns.substr(0, dot), ns.substr(dot + 1), actions);
}

bool Asker::everything() const {
  ActionSet all;
  all.add(Action::anyAction);
  for (const access::Privilege& one : authority_.privileges.all()) {
    if (one.resource.kind == access::ResourcePattern::Kind::any && one.actions.has_all(all)) return true;
  }
  return false;
}

bool Asker::at_ref(std::string_view ref, std::string_view collection_name, const ActionSet& actions) const {
  const std::string db = std::string(versions::split_name(request_.db).database) + "@" + std::string(ref);
  return collection_name.empty() ? database(db, actions) : collection(db, collection_name, actions);
}

bool Asker::all_states(std::string_view collection_name, const ActionSet& actions) const {
  const std::string_view itself = versions::split_name(request_.db).database;
  return at_ref(all_refs, collection_name, actions) &&
         (collection_name.empty() ? base(actions) : collection(itself, collection_name, actions));
}

bool Asker::shared_target(const ActionSet& actions) const {
  const std::string_view itself = versions::split_name(request_.db).database, name = named();
  return target(actions) && (itself == request_.db || (name.empty() ? base(actions) : collection(itself, name, actions)));
}

bool Asker::base(const ActionSet& actions) const {
  return database(versions::split_name(request_.db).database, actions);
}

std::string_view Asker::named() const {
  const auto first = request_.body.first();
  return first.is_string() ? first.as_string() : std::string_view();
}

std::string_view Asker::text(std::string_view field) const {
  const auto found = request_.body.find(field);
  return found.is_string() ? found.as_string() : std::string_view();
}

}  // namespace server::rules
