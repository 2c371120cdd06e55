// `palimpsest bundle` takes commits of a database out into a file, checks such a file, and brings it to another server.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/uuid.h"
#include "bson/builder.h"
#include "datasets/program/commands.h"
#include "datasets/replay/client.h"
#include "versions/pack/pack_reader.h"

namespace datasets::program {
namespace {

namespace pack = versions::pack;
using base::Bytes;

struct Arguments {
  std::string uri = "mongodb://127.0.0.1:27017/";
  std::string range;
  std::string database;
  std::string as = "bundle";
  std::string file;
  int64_t depth = 0;  // 0: all commits
  bool shallow = false;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

// shop | shop@dev | shop@v1..shop@dev
struct Range {
  std::string database;
  std::string from, to;  // empty: from the beginning; all branches and tags
};

Range range_of(const std::string& text) {
  const auto state = [](const std::string& name) {
    const size_t at = name.find('@');
    return at == name.npos ? std::pair(name, std::string()) : std::pair(name.substr(0, at), name.substr(at + 1));
  };
  const size_t dots = text.find("..");
  const auto [database, ref] = state(text.substr(0, dots));
  if (database.empty()) fail("'" + text + "' names no database");
  if (dots == text.npos) return {database, "", ref};
  const auto [same, to] = state(text.substr(dots + 2));
  if (ref.empty() || to.empty() || same != database) fail("'" + text + "' isn't of the form shop@from..shop@to");
  return {database, ref, to};
}

Bytes unhex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Reads a whole cursor, one document at a time.
class Documents {
 public:
  Documents(replay::Client& client, std::string db, const bson::Document& command) : client_(client), db_(std::move(db)) {
    take(client_.command(db_, command), "firstBatch");
  }
  std::optional<bson::DocumentView> next() {
    while (at_ == batch_.size()) {
      if (id_ == 0) return std::nullopt;
      bson::Builder more;
      more.append("getMore", id_).append("collection", collection_);
      take(client_.command(db_, more.done()), "nextBatch");
    }
    return batch_[at_++].view();
  }

 private:
  void take(const bson::Document& reply, std::string_view name) {
    const bson::DocumentView cursor = reply.view()["cursor"].as_document();
    id_ = cursor["id"].to_int64();
    const std::string ns(cursor["ns"].as_string());
    collection_ = ns.substr(ns.find('.') + 1);
    batch_.clear();
    at_ = 0;
    for (const bson::Element& one : cursor.find(name).as_document()) batch_.emplace_back(one.as_document());
  }

  replay::Client& client_;
  std::string db_, collection_;
  int64_t id_ = 0;
  std::vector<bson::Document> batch_;
  size_t at_ = 0;
};

// The commit's id that a branch or tag names, or that is given in hex.
Bytes id_of(replay::Client& client, const Range& range) {
  const bool is_id = range.from.size() == 64 && range.from.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_id) return unhex(range.from);
  bson::Builder ask;
  ask.append("packCommits", 1);
  ask.array("refs");
  Documents answer(client, range.database, ask.done());
  const auto first = answer.next();
  if (!first) fail("the server's answer to packCommits is empty");
  for (const bson::Element& one : (*first)["refs"].as_document()) {
    const bson::DocumentView ref = one.as_document();
    for (const char* kind : {"branch", "tag"}) {
      if (ref.has(kind) && ref[kind].as_string() == range.from) return Bytes(ref["commit"].as_binary().bytes);
    }
  }
  fail("database '" + range.database + "' has no branch or tag '" + range.from + "'; a commit is given by its whole id");
}

int create(const Arguments& arguments) {
  replay::Client client(arguments.uri);
  const Range range = range_of(arguments.range);
  bson::Builder command;
  command.append("packCommits", 1);
  if (!range.to.empty()) command.array("refs").append(range.to);
  if (!range.from.empty()) {
    const Bytes base = id_of(client, range);
    command.array("have").append(bson::Binary{0, base});
  }
  if (arguments.depth > 0) command.append("depth", arguments.depth);
  Documents pieces(client, range.database, command.done());
  pieces.next();
  std::ofstream out(arguments.file, std::ios::binary | std::ios::trunc);
  uint64_t bytes = 0;
  while (const auto piece = pieces.next()) {
    const base::BytesView some = (*piece)["pack"].as_binary().bytes;
    out.write(some.data(), static_cast<std::streamsize>(some.size()));
    bytes += some.size();
  }
  out.close();
  if (!out) fail("cannot write " + arguments.file);
  std::cout << "{\"file\": \"" << arguments.file << "\", \"bytes\": " << bytes << "}\n";
  return 0;
}

pack::PackReader::Source source_of(const std::shared_ptr<std::ifstream>& in) {
  return [in] {
    Bytes some(1 << 20, '\0');
    in->read(some.data(), static_cast<std::streamsize>(some.size()));
    some.resize(static_cast<size_t>(in->gcount()));
    return some;
  };
}

struct Verified {
  pack::Header header;
  uint64_t commits = 0, rows = 0;
};

Verified verified(const std::string& file) {
  const auto in = std::make_shared<std::ifstream>(file, std::ios::binary);
  if (!*in) fail("cannot read " + file);
  pack::PackReader reader(source_of(in));
  Verified all{.header = reader.header()};
  for (;;) {
    const auto item = reader.next();
    if (std::holds_alternative<std::monostate>(item)) break;
    ++(std::holds_alternative<pack::Commit>(item) ? all.commits : all.rows);
  }
  return all;
}

std::string hex(const versions::merkle::Hash& id) {
  return base::to_hex(versions::merkle::view(id));
}

int verify(const Arguments& arguments) {
  const Verified all = verified(arguments.file);
  std::cout << "{\"database\": \"" << all.header.database << "\", \"commits\": " << all.commits << ", \"rows\": " << all.rows
            << ", \"standsOn\": [";
  const char* comma = "";
  for (const auto& id : all.header.stands_on) std::cout << std::exchange(comma, ", ") << '"' << hex(id) << '"';
  std::cout << "], \"excluded\": [";
  comma = "";
  for (const auto& id : all.header.excluded) std::cout << std::exchange(comma, ", ") << '"' << hex(id) << '"';
  std::cout << "], \"refs\": [";
  comma = "";
  for (const auto& ref : all.header.refs) {
    std::cout << std::exchange(comma, ", ") << "{\"" << (ref.kind == pack::Ref::Kind::branch ? "branch" : "tag") << "\": \""
              << ref.name << "\", \"commit\": \"" << hex(ref.commit) << "\"}";
  }
  std::cout << "]}\n";
  return 0;
}

// A database that isn't there takes a history that ends before its first commit, and so does one whose own ends so.
bool may_be_shallow(replay::Client& client, const std::string& database) {
  constexpr uint32_t namespace_not_found = 26;
  try {
    return client.command(database, bson::Builder().append("versionStats", 1).done()).view()["shallow"].truthy();
  } catch (const replay::ClientError& error) {
    if (error.code() != namespace_not_found) throw;
    return true;
  }
}

// The file is checked before any of it is sent. What its refs name are tags on the server.
int fetch(const Arguments& arguments) {
  const Verified all = verified(arguments.file);
  const std::string database = arguments.database.empty() ? all.header.database : arguments.database;
  replay::Client client(arguments.uri);
  const bool shallow = !all.header.excluded.empty() && (arguments.shallow || may_be_shallow(client, database));
  const Bytes upload = base::random_uuid();
  const auto in = std::make_shared<std::ifstream>(arguments.file, std::ios::binary);
  const auto source = source_of(in);
  int64_t offset = 0;
  for (Bytes piece = source(); !piece.empty();) {
    Bytes next = source();
    bson::Builder command;
    command.append("receivePack", bson::Binary{4, upload}).append("offset", offset).append("pack", bson::Binary{0, piece});
    if (next.empty()) {
      command.append("last", true);
      if (shallow) command.append("shallow", true);
      auto refs = command.array("refs");
      for (const auto& ref : all.header.refs) {
        auto one = refs.object();
        one.append("tag", arguments.as + "/" + ref.name).append("commit", bson::Binary{0, versions::merkle::view(ref.commit)});
        one.append("force", true);
      }
    }
    const bson::Document reply = client.command(database, command.done());
    if (next.empty())
      std::cout << "{\"database\": \"" << database << "\", \"made\": " << reply.view()["made"].to_int64() << "}\n";
    offset += static_cast<int64_t>(piece.size());
    piece = std::move(next);
  }
  return 0;
}

void add(CLI::App& parser, const std::shared_ptr<Arguments>& arguments, std::shared_ptr<Run>& chosen, const char* name,
         const char* about, int (*run)(const Arguments&), const std::function<void(CLI::App&)>& options) {
  CLI::App* one = parser.add_subcommand(name, about);
  options(*one);
  one->callback([arguments, chosen, run] { *chosen = [arguments, run] { return run(*arguments); }; });
}

}  // namespace

Command add_bundle(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  auto chosen = std::make_shared<Run>();
  CLI::App* parser = app.add_subcommand("bundle", "carry commits of a database in a file");
  parser->require_subcommand(1);
  const auto uri = [arguments](CLI::App& one) { one.add_option("--uri", arguments->uri, "the server")->capture_default_str(); };
  const auto file = [arguments](CLI::App& one, bool exists) {
    CLI::Option* option = one.add_option("file", arguments->file, "the bundle")->required();
    if (exists) option->check(CLI::ExistingFile);
  };
  add(*parser, arguments, chosen, "create", "write a bundle", create, [&](CLI::App& one) {
    uri(one);
    one.add_option("commits", arguments->range, "shop: all branches and tags; shop@dev: one; shop@v1..shop@dev: what v1 lacks")
        ->required();
    one.add_option("--depth", arguments->depth, "so many of the newest commits of each branch and tag")
        ->check(CLI::Range(int64_t{1}, INT64_MAX - 1));
    file(one, false);
  });
  add(*parser, arguments, chosen, "verify", "check each byte of a bundle, and the id of each commit", verify,
      [&](CLI::App& one) { file(one, true); });
  add(*parser, arguments, chosen, "fetch", "bring a bundle's commits to a server", fetch, [&](CLI::App& one) {
    uri(one);
    one.add_option("--db", arguments->database, "the database; default: as in the bundle");
    one.add_option("--as", arguments->as, "its branch dev is the tag AS/dev there")->capture_default_str();
    one.add_flag("--shallow", arguments->shallow, "a history that is whole may become shallow by it");
    file(one, true);
  });
  return {parser, [chosen] { return (*chosen)(); }};
}

}  // namespace datasets::program
