// dedupChain shows what dedup made of one document: the chain that it lies in, content by content.
#include <algorithm>
#include <shared_mutex>

#include "base/error.h"
#include "bson/json.h"
#include "server/commands/shared/id_argument.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"
#include "storage/upkeep/chain_view.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using storage::ChainNode;
using storage::ChainView;

constexpr int64_t limit_default = 100;
constexpr int64_t limit_max = 1000;
constexpr size_t reply_bytes_max = 8 << 20;  // a page ends there; `_id`s may be large

int64_t integer_within(const Arguments& arguments, std::string_view name, int64_t otherwise, int64_t least, int64_t most) {
  const int64_t value = arguments.integer(name).value_or(otherwise);
  const auto refuse = [&](const char* relation, int64_t bound) {
    throw OperationError(51024, "BSON field '" + std::string(name) + "' value must be " + relation + " " + std::to_string(bound) +
                                    ", actual value '" + std::to_string(value) + "'");
  };
  if (value < least) refuse(">=", least);
  if (value > most) refuse("<=", most);
  return value;
}

bson::Timestamp timestamp(storage::Stamp stamp) {
  return {static_cast<uint32_t>(stamp >> 32), static_cast<uint32_t>(stamp)};
}

std::string_view form_name(ChainNode::Form form) {
  switch (form) {
    case ChainNode::Form::head: return "head";
    case ChainNode::Form::delta: return "delta";
    case ChainNode::Form::whole: return "whole";
  }
  return "";
}

std::string_view choice_name(dedup::Choice choice) {
  switch (choice) {
    case dedup::Choice::given: return "given";
    case dedup::Choice::match: return "match";
    case dedup::Choice::cached: return "cached";
    case dedup::Choice::tried: return "tried";
  }
  return "";
}

// Appends nodes of one chain; reads their contents for `_id` and for the bytes that they share with their bases.
class NodeWriter {
 public:
  NodeWriter(OperationContext& op, storage::Collection& collection, storage::Transaction& transaction, const ChainView& view)
      : op_(op),
        collection_(collection),
        transaction_(transaction),
        view_(view),
        sketcher_(write::store_of(op).dedup().sketcher(collection)) {}

  void append(bson::Builder& out, const ChainNode& node) {
    op_.check_interrupt();
    const bson::Document document(storage::read_node(collection_, transaction_, node));
    out.append("_id", document["_id"]);
    out.append("record", node.key.content.record).append("generation", timestamp(node.key.content.generation));
    append_count(out, "position", node.position);
    out.append("form", form_name(node.form)).append("retained", node.retained);
    append_count(out, "contentBytes", static_cast<int64_t>(node.content_bytes));
    append_count(out, "storedBytes", static_cast<int64_t>(node.stored_bytes));
    append_count(out, "hops", node.hops);
    append_count(out, "references", static_cast<int64_t>(node.references));
    if (node.ordinal) append_count(out, "ordinal", *node.ordinal);
    if (!node.base) return;
    out.append("hopBase", node.hop_base).append("demoted", node.demoted);
    auto base = out.object("base");
    append_base(base, node, document);
  }

 private:
  // The reason for the choice is stored; the shared bytes are found in the contents.
  void append_base(bson::Builder& out, const ChainNode& node, const bson::Document& document) {
    ChainNode of;
    of.key = *node.base;
    out.append("record", of.key.content.record).append("generation", timestamp(of.key.content.generation));
    if (of.key.chain != view_.chain) out.append("chain", of.key.chain);
    const bson::Document base(storage::read_node(collection_, transaction_, of));
    out.append("_id", base["_id"]);
    auto why = out.object("why");
    why.append("choice", choice_name(node.choice));
    const dedup::Features features = sketcher_.sketch(collection_.id(), document.bytes());
    const dedup::Features others = sketcher_.sketch(collection_.id(), base.bytes());
    int32_t common = 0;
    for (const uint32_t feature : features) common += others.contains(feature);
    why.append("featuresInCommon", common).append("features", static_cast<int32_t>(features.size()));
    why.append("update", of.key.content.record == node.key.content.record);
    why.append("head", is_head(of.key));
    const auto& options = collection_.options().dedup;
    if (options.key.empty()) return;
    const auto lineage = storage::lineage_of(options, document);
    why.append("lineage", lineage != dedup::no_lineage && lineage == storage::lineage_of(options, base));
  }

  bool is_head(const storage::ChainKey& key) const {
    const auto& nodes = view_.nodes;  // highest rank first
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), key,
                                        [](const ChainNode& node, const auto& wanted) { return node.key > wanted; });
    return found != nodes.end() && found->key == key && found->form == ChainNode::Form::head;
  }

  OperationContext& op_;
  storage::Collection& collection_;
  storage::Transaction& transaction_;
  const ChainView& view_;
  const dedup::Sketcher sketcher_;
};

class DedupChain : public Command {
 public:
  std::string_view name() const override { return "dedupChain"; }
  std::string_view help() const override {
    return "shows how a document and those it is kept with are stored: the chain of deltas around it, newest first\n"
           "{ dedupChain: <collection>, _id: <value>, skip: <contents>, limit: <contents, at most 1000> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"_id", "id", "skip", "limit"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::ValueView id = id_argument(arguments);
    const int64_t skip = integer_within(arguments, "skip", 0, 0, INT64_MAX);
    const int64_t limit = integer_within(arguments, "limit", limit_default, 1, limit_max);
    const std::string ns = request.ns();
    storage::Store& store = write::store_of(op);
    const auto collection = store.catalog().open(ns);
    if (!collection) throw OperationError(ErrorCode::namespace_not_found, "Collection '" + ns + "' does not exist");
    if (collection->read_only()) throw OperationError(ErrorCode::illegal_operation, "'" + ns + "' names contents, it keeps none");
    const auto schema = base::hold_shared(collection->schema_mutex(), op.interrupted());
    storage::Transaction transaction(store, storage::Transaction::Mode::read);
    const auto record = collection->find_id(transaction, id);
    const auto view = record ? storage::view_chain(*collection, transaction, *record, op.interrupted()) : std::nullopt;
    if (!view) throw OperationError(ErrorCode::no_such_key, "No document of '" + ns + "' has _id: " + bson::to_shell(id));
    append_totals(reply, ns, *view);
    NodeWriter writer(op, *collection, transaction, *view);
    {
      auto asked = reply.object("document");
      writer.append(asked, view->nodes[view->asked]);
    }
    append_page(reply, writer, *view, static_cast<size_t>(skip), static_cast<size_t>(limit));
  }

 private:
  static void append_totals(bson::Builder& reply, const std::string& ns, const ChainView& view) {
    reply.append("ns", ns).append("chain", view.chain);
    append_count(reply, "n", static_cast<int64_t>(view.nodes.size()));
    append_count(reply, "heads", static_cast<int64_t>(view.heads));
    append_count(reply, "retained", static_cast<int64_t>(view.retained));
    append_count(reply, "hopBases", static_cast<int64_t>(view.hop_bases));
    append_count(reply, "contentBytes", static_cast<int64_t>(view.content_bytes));
    append_count(reply, "storedBytes", static_cast<int64_t>(view.stored_bytes));
    reply.append("ratio",
                 static_cast<double>(view.content_bytes) / static_cast<double>(std::max<uint64_t>(view.stored_bytes, 1)));
    auto hops = reply.object("hops");
    hops.append("mean", view.hops_mean);
    append_count(hops, "max", view.hops_max);
  }

  static void append_page(bson::Builder& reply, NodeWriter& writer, const ChainView& view, size_t skip, size_t limit) {
    size_t at = std::min(skip, view.nodes.size());
    const size_t end = at + std::min(limit, view.nodes.size() - at);
    const size_t begin = at;
    append_count(reply, "skip", static_cast<int64_t>(begin));
    {
      auto nodes = reply.array("nodes");
      for (size_t bytes = 0; at < end && bytes < reply_bytes_max; ++at) {
        bson::Builder one;
        writer.append(one, view.nodes[at]);
        const bson::Document node = one.done();
        bytes += node.bytes().size();
        nodes.append(node);
      }
    }
    append_count(reply, "returned", static_cast<int64_t>(at - begin));
    reply.append("more", at < view.nodes.size());
  }
};

}  // namespace

std::unique_ptr<Command> make_dedup_chain_command() {
  return std::make_unique<DedupChain>();
}

}  // namespace server
