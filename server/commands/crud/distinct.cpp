// distinct returns the different values of a field among the documents that match.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "bson/compare.h"
#include "replication/optime.h"
#include "server/commands/crud/explainable.h"
#include "server/commands/crud/view_query.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/field_path.h"
#include "server/query/find_request.h"
#include "server/query/match/path.h"
#include "server/query/plan_notes.h"
#include "server/query/reader.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server {
namespace {

struct DistinctRequest {
  std::string key;
  query::Query query;
};

DistinctRequest parse_distinct(const Request& request) {
  const Arguments arguments("distinct", request.body);
  DistinctRequest distinct;
  distinct.key = arguments.required_string("key");
  if (distinct.key.find('\0') != std::string::npos) {
    throw base::OperationError(31032, "Key field cannot contain an embedded null byte");
  }
  query::check_field_path(distinct.key);
  distinct.query.ns = request.ns();
  distinct.query.filter = bson::Document(arguments.object("query").value_or(bson::DocumentView()));
  distinct.query.hint = query::checked_hint(arguments.any("hint"));
  distinct.query.collation = bson::parse_collation(arguments.any("collation"));
  distinct.query.distinct = distinct.key;
  bson::Builder projection;  // the fields that are read of a document, so that an index may answer
  if (distinct.key != "_id") projection.append("_id", 0);
  distinct.query.projection = projection.append(distinct.key, 1).done();
  return distinct;
}

// Collects values in the order in which they come first, each once. Of those that the collation takes for one, the first counts.
class Values {
 public:
  Values(std::string_view key, const bson::Collator* collator, Allowance& allowance)
      : path_(key), allowance_(allowance), seen_(Less{collator, &allowance}) {}

  void add_from(bson::DocumentView document) {
    allowance_.work_on(document.size());
    path_.walk(document, query::match::LeafArray::whole, [&](const bson::ValueView& value, std::string_view) {
      if (!value.is_array()) {
        add(value);
      } else {
        for (const bson::Element& element : value.as_document()) {
          allowance_.work();
          add(element);
        }
      }
      return false;
    });
  }

  void append(bson::Builder& reply) const {
    auto array = reply.array("values");
    for (const bson::Value* value : in_order_) array.append(*value);
  }

 private:
  // Long values are more work to compare.
  struct Less {
    using is_transparent = void;
    const bson::Collator* collator;
    Allowance* allowance;
    bool operator()(const bson::ValueView& a, const bson::ValueView& b) const {
      allowance->work_on(std::min(a.bytes().size(), b.bytes().size()));
      return bson::compare(a, b, collator) < 0;
    }
  };

  void add(const bson::ValueView& value) {
    if (!value.exists() || seen_.contains(value)) return;
    bytes_ += value.bytes().size() + 16;
    if (bytes_ > bson::document_bytes_max) throw base::OperationError(17217, "distinct too big, 16mb cap");
    in_order_.push_back(&*seen_.insert(bson::Value(value)).first);
  }

  const query::match::Path path_;
  Allowance& allowance_;
  std::set<bson::Value, Less> seen_;
  std::vector<const bson::Value*> in_order_;
  size_t bytes_ = 0;
};

class Distinct : public Command, public Explainable {
 public:
  std::string_view name() const override { return "distinct"; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  std::string_view help() const override { return "{ distinct : 'collection name' , key : 'a.b' , query : {} }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"key", "query", "collation", "hint", "queryOptions", "collectionUUID"};
    return names;
  }
  bool takes_collection() const override { return true; }
  bool takes_read_concern() const override { return true; }
  bool takes_snapshot() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const DistinctRequest distinct = parse_distinct(request);
    check_collection_uuid(op, request.body.find("collectionUUID"), distinct.query.ns);
    auto collection = query::open_collection(op, distinct.query.ns);
    if (is_view(op, distinct.query.ns, collection.get())) {
      ViewDocuments documents(op, distinct.query);
      Values values(distinct.key, documents.collator(), op.allowance());
      while (documents.next()) values.add_from(documents.document());
      return values.append(reply);
    }
    query::Reader reader(op, std::move(collection), distinct.query.ns, distinct.query);
    query::note_plan(op, reader.executor());
    Values values(distinct.key, reader.executor().collator().get(), op.allowance());
    op.error_context = "Executor error during distinct command";
    while (reader.next()) values.add_from(reader.document());
    op.error_context = {};
    const query::ExecutionStats stats = reader.executor().stats();
    op.counts.keys_examined = stats.keys_examined;
    op.counts.docs_examined = stats.docs_examined;
    query::note_execution(op, reader.executor());
    values.append(reply);
    if (op.moment) reply.append("atClusterTime", replication::timestamp_of(op.moment->stamp));
  }

  void explain(OperationContext& op, const Request& request, query::Verbosity verbosity, bson::Builder& reply) override {
    DistinctRequest distinct = parse_distinct(request);
    auto collection = op.services().store->catalog().open(distinct.query.ns);
    if (is_view(op, distinct.query.ns, collection.get())) return ViewDocuments(op, distinct.query).explain(verbosity, reply);
    distinct.query.explained = true;
    query::Reader reader(op, std::move(collection), distinct.query.ns, distinct.query);
    while (verbosity != query::Verbosity::query_planner && reader.next()) (void)reader.document();  // decoding is counted
    reply.append("explainVersion", "1");
    reader.executor().explain(reply, verbosity);
  }
};

}  // namespace

std::unique_ptr<Command> make_distinct_command() {
  return std::make_unique<Distinct>();
}

}  // namespace server
