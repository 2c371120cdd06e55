#include "server/dispatch/rules/asker.h"

#include "versions/database/refs.h"

namespace server::rules {

using access::Resource;

bool Asker::cluster(const ActionSet& actions) const {
  return authority_.privileges.allow(actions, Resource::of_cluster());
}
bool Asker::database(std::string_view db, const ActionSet& actions) const {
  return authority_.privileges.allow(actions, Resource::of_database(db));
}
bool Asker::collection(std::string_view db, std::string_view name, const ActionSet& actions) const {
  return authority_.privileges.allow(actions, Resource::of_collection(db, name));
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
  const std::string base(versions::split_name(request_.db).database);
  const auto ask = [&](const std::string& db) {
    return collection_name.empty() ? database(db, actions) : collection(db, collection_name, actions);
  };
  return ask(base + "@" + std::string(ref)) || (ref == "main" && ask(base));
}

bool Asker::all_states(std::string_view collection_name, const ActionSet& actions) const {
  return at_ref("*", collection_name, actions);
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
