// top shows how often each collection was used since the server started, and how long that took.
#include "server/core/collection_usage.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using Kind = CollectionUsage::Kind;

void append_timing(bson::Builder& out, const char* name, const CollectionUsage::Figures& figures,
                   std::initializer_list<Kind> kinds) {
  CollectionUsage::Timing sum;
  for (const Kind kind : kinds) {
    const CollectionUsage::Timing& timing = figures.by_kind[static_cast<size_t>(kind)];
    sum.us += timing.us;
    sum.count += timing.count;
  }
  auto shown = out.object(name);
  append_count(shown, "time", sum.us);
  append_count(shown, "count", sum.count);
}

void append_collection(bson::Builder& out, const CollectionUsage::Figures& figures) {
  append_timing(out, "total", figures,
                {Kind::query, Kind::get_more, Kind::insert, Kind::update, Kind::remove, Kind::bulk_write, Kind::read_command,
                 Kind::write_command, Kind::other_command});
  append_timing(out, "readLock", figures, {Kind::query, Kind::get_more, Kind::read_command});
  append_timing(out, "writeLock", figures, {Kind::insert, Kind::update, Kind::remove, Kind::bulk_write, Kind::write_command});
  append_timing(out, "queries", figures, {Kind::query});
  append_timing(out, "getmore", figures, {Kind::get_more});
  append_timing(out, "insert", figures, {Kind::insert});
  append_timing(out, "update", figures, {Kind::update});
  append_timing(out, "remove", figures, {Kind::remove});
  append_timing(out, "commands", figures, {Kind::read_command, Kind::write_command, Kind::other_command});
}

class Top : public Command {
 public:
  std::string_view name() const override { return "top"; }
  std::string_view help() const override { return "usage by collection, in micros "; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const storage::Catalog& catalog = write::store_of(op).catalog();
    auto totals = reply.object("totals");
    totals.append("note", "all times in microseconds");
    const auto now = [&](std::string_view ns) { return collection_named(catalog, ns); };
    for (const auto& [ns, figures] : op.services().usage.all(now)) {
      auto one = totals.object(ns);
      append_collection(one, figures);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_top_command() {
  return std::make_unique<Top>();
}

}  // namespace server
