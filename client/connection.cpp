#include "client/connection.h"

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "client/table.h"

namespace client {

void Target::add_options(CLI::App& verb, const std::string& about_db) {
  verb.add_option("--uri", uri, "the server, as mongodb://host:port/database; an @ in the name of the database is %40 there")
      ->capture_default_str();
  if (!about_db.empty()) verb.add_option("--db", db, about_db + ", instead of the one in the URI");
  verb.add_flag("--json", json, "print documents as lines of relaxed Extended JSON");
}

Connection::Connection(const Target& target)
    : client_(target.uri, "palimpsest"), db_(target.db.empty() ? client_.database() : target.db) {}

const std::string& Connection::required_db() const {
  if (db_.empty()) throw std::invalid_argument("it needs a database: --uri mongodb://host/shop, or --db shop");
  return db_;
}

void Connection::check_database(const std::string& name) {
  if (name.find('@') != name.npos) return;  // the server refuses commands for a state that there is not
  bson::Builder command;
  command.append("listDatabases", 1).append("nameOnly", true);
  command.object("filter").append("name", name);
  const bson::Document reply = run("admin", command.done());
  const bson::Element found = reply.view()["databases"];
  if (found.is_array() && found.as_document().empty()) throw std::runtime_error("there is no database '" + printable(name) + "'");
}

bson::Document Connection::run(const std::string& db, const std::string& command) {
  bson::Builder one;
  one.append(command, 1);
  return run(db, one.done());
}

std::string text_of(const bson::Element& field) {
  return field.is_string() ? std::string(field.as_string()) : std::string();
}

}  // namespace client
