#include "replication/schema_changes.h"

#include "storage/engine/names.h"
#include "storage/indexes/index_options.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw OperationError(ErrorCode::data_corruption_detected, what);
}

class Change {
 public:
  Change(storage::Catalog& catalog, storage::BranchReplayer* branches, const LogRecord& record,
         const storage::ReplayedChange& replayed)
      : catalog_(catalog),
        branches_(branches),
        record_(record),
        replayed_(replayed),
        entry_(record.entries.back().entry),
        db_(storage::database_of(entry_.ns)),
        command_(entry_.o) {}

  // The last entry says it all: those before it are of the same kind, or dropped on the way.
  void make() {
    if (command_.empty()) refuse("an empty command");
    const std::string_view name = command_.begin()->name;
    if (name == "createIndexes") return create_indexes();
    if (name == "dropDatabase") return drop_database();
    if (name == "create") return alone(), create();
    if (name == "drop") return alone(), drop();
    if (name == "renameCollection") return alone(), rename();
    if (name == "dropIndexes") return alone(), drop_index();
    if (name == "collMod") return alone(), modify();
    change_branches();
  }

 private:
  void alone() const {
    if (record_.entries.size() > 1) refuse("a command that doesn't stand alone");
  }
  // One transaction may change several refs.
  void change_branches() {
    if (!branches_) refuse("an unknown command");
    std::vector<storage::BranchChange> changes(1);
    for (const LogRecord::Item& item : record_.entries) {
      const Entry& entry = item.entry;
      if (entry.op != 'c') {
        changes.back().documents.push_back({entry.op, entry.ns, entry.o, entry.o2, item.stamp});
        continue;
      }
      if (entry.ns != entry_.ns || entry.o.empty()) refuse("commands that don't stand together");
      changes.back().command = entry.o;
      changes.back().stamp = item.stamp;
      changes.emplace_back();
    }
    changes.pop_back();  // the last entry is a command
    branches_->replay(db_, changes, replayed_);
  }
  std::string_view text(std::string_view field) const {
    const auto value = command_.find(field);
    if (!value.is_string()) refuse("no " + std::string(field) + " in it");
    return value.as_string();
  }
  std::string target() const { return db_ + "." + std::string(text(command_.begin()->name)); }

  std::shared_ptr<storage::Collection> collection(const std::string& ns) const {
    const auto found = catalog_.open(ns);
    if (!found) refuse("there is no collection " + ns);
    if (BytesView(found->uuid_bytes()) != entry_.uuid) refuse(ns + " has another uuid");
    return found;
  }

  void create() {
    storage::CollectionOptions options;
    bson::Builder document;
    for (const auto& field : command_) {
      if (field.name != "create" && field.name != "idIndex") document.append_element(field);
    }
    options.document = document.done();
    options.capped = options.document.view().find("capped").truthy();
    if (options.capped) {
      const auto size = options.document.view().find("size"), max = options.document.view().find("max");
      options.capped_bytes = size.is_number() ? size.to_int64() : 0;
      options.capped_records = max.is_number() ? max.to_int64() : 0;
    }
    catalog_.create(target(), options, entry_.uuid, {.replayed = &replayed_});
  }

  void drop() {
    const std::string ns = target();
    collection(ns);
    catalog_.drop(ns, {.replayed = &replayed_});
  }

  void drop_database() { catalog_.drop_database(db_, {.replayed = &replayed_}); }

  void rename() {
    const std::string from(text("renameCollection"));
    collection(from);
    const auto target = command_.find("dropTarget");
    if (target.exists()) {
      const auto there = catalog_.open(text("to"));
      if (!there || target.type() != bson::Type::binary || BytesView(there->uuid_bytes()) != target.as_binary().bytes) {
        refuse("the collection it replaces is another one");
      }
    }
    catalog_.rename(from, text("to"), target.exists(), nullptr, {.replayed = &replayed_});
  }

  void create_indexes() {
    const std::string ns = target();
    std::vector<storage::IndexSpec> specs;
    for (const LogRecord::Item& item : record_.entries) {
      bson::Builder spec;
      for (const auto& field : item.entry.o) {
        if (field.name != "createIndexes") spec.append_element(field);
      }
      specs.push_back(storage::parse_index_spec(spec.done()));
    }
    catalog_.create_indexes(collection(ns), specs, {.replayed = &replayed_});
  }

  void drop_index() { catalog_.drop_index(collection(target()), text("index"), {.replayed = &replayed_}); }

  void modify() {
    const auto found = collection(target());
    const auto change = command_.find("index");
    if (!change.exists()) {
      bson::Builder options;
      for (const auto& field : command_) {
        if (field.name != "collMod") options.append_element(field);
      }
      return catalog_.alter_options(found, options.done(), {.replayed = &replayed_});
    }
    if (!change.is_object()) refuse("no index to modify");
    const auto name = change.as_document().find("name");
    const auto index = name.is_string() ? found->index(name.as_string()) : nullptr;
    if (!index) refuse("there is no such index");
    storage::IndexSpec spec = index->spec();
    if (const auto seconds = change.as_document().find("expireAfterSeconds"); seconds.is_number())
      storage::set_expiry(spec, seconds.to_int64());
    if (const auto hidden = change.as_document().find("hidden"); hidden.exists()) storage::set_hidden(spec, hidden.truthy());
    if (const auto prepares = change.as_document().find("prepareUnique"); prepares.exists())
      storage::set_prepare_unique(spec, prepares.truthy());
    if (change.as_document().find("unique").truthy()) storage::set_unique(spec);
    catalog_.alter_index(found, spec, {.replayed = &replayed_});
  }

  storage::Catalog& catalog_;
  storage::BranchReplayer* const branches_;
  const LogRecord& record_;
  const storage::ReplayedChange& replayed_;
  const Entry& entry_;
  const std::string db_;
  const bson::DocumentView command_;
};

}  // namespace

void change_schema(storage::Catalog& catalog, storage::BranchReplayer* branches, const LogRecord& record,
                   const storage::ReplayedChange& replayed) {
  Change(catalog, branches, record, replayed).make();
}

}  // namespace replication
