// filemd5 returns the MD5 of a file in GridFS, from its chunks.
#include "base/error.h"
#include "bson/md5.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/reader.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

// Returns the collection of the chunks: `root`, by default "fs", followed by ".chunks".
std::string chunks_namespace(const Request& request) {
  const auto root = request.body.find("root");
  if (root.exists() && !root.is_string()) throw OperationError(ErrorCode::invalid_namespace, "'root' must be of type String");
  const std::string name = root.exists() && !root.as_string().empty() ? std::string(root.as_string()) : "fs";
  return request.db + "." + name + ".chunks";
}

// Chunks are found by an index alone, as in MongoDB: without one, each of a file's chunks would need a scan.
void check_indexed(const storage::Collection& chunks) {
  for (const auto& index : chunks.indexes()) {
    const auto& fields = index->spec().fields;
    if (index->ready() && !fields.empty() && fields.front().path == "files_id" && index->spec().partial_filter.empty() &&
        !index->spec().sparse)
      return;
  }
  throw OperationError(ErrorCode::no_query_execution_plans,
                       "error processing query: ns=" + chunks.ns() +
                           " planner returned error :: caused by :: No indexed plans available, and running with 'notablescan'");
}

base::BytesView data_of(bson::DocumentView chunk) {
  const auto data = chunk.find("data");
  if (data.type() != bson::Type::binary) {
    throw OperationError(50847, "The element that calls binDataClean() must be type of BinData, but type of " +
                                    std::string(data.exists() ? bson::type_name(data.type()) : "missing") + " found.");
  }
  return data.as_binary().bytes;
}

class FileMd5 : public Command {
 public:
  std::string_view name() const override { return "filemd5"; }
  std::string_view help() const override { return " example: { filemd5 : ObjectId(aaaaaaa) , root : \"fs\" }"; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }
  bool takes_read_concern() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ns = chunks_namespace(request);
    const bool partial = request.body.find("partialOk").truthy();
    bson::Md5 md5;
    int64_t number = 0;
    if (partial) {
      md5 = state_of(request.body.find("md5state"));
      const auto start = request.body.find("startAt");
      if (start.is_number()) number = start.to_int64();
    }
    if (const auto chunks = query::open_collection(op, ns)) {
      check_indexed(*chunks);
      number = digest(op, chunks, ns, request.body.first(), partial, number, md5);
    }
    const base::Bytes state = md5.state();
    if (partial) reply.append("md5state", bson::Binary{0, state});
    reply.append("numChunks", static_cast<int32_t>(number)).append("md5", md5.hex());
  }

 private:
  static bson::Md5 state_of(const bson::Element& given) {
    if (!given.exists()) return {};
    const auto state = given.type() == bson::Type::binary ? bson::Md5::from_state(given.as_binary().bytes) : std::nullopt;
    if (!state) throw OperationError(16247, "md5 state not correct size");
    return *state;
  }

  // Returns the number after the last chunk's; `first` is the chunk to begin with.
  static int64_t digest(OperationContext& op, const std::shared_ptr<storage::Collection>& chunks, const std::string& ns,
                        const bson::ValueView& file, bool partial, int64_t first, bson::Md5& md5) {
    bson::Builder filter;
    filter.object("files_id").append("$eq", file);
    filter.object("n").append("$gte", first);
    query::Query query;
    query.ns = ns;
    query.filter = filter.done();
    query.sort = order();
    int64_t number = first;
    for (query::Reader reader(op, chunks, ns, query); reader.next(); ++number) {
      const auto n = reader.document().find("n");
      if (!n.is_number() || n.to_int64() != number) {
        if (partial) break;
        throw OperationError(10040, "chunks out of order");
      }
      md5.append(data_of(reader.document()));
    }
    return number;
  }

  static bson::Document order() {
    bson::Builder order;
    order.append("files_id", 1).append("n", 1);
    return order.done();
  }
};

}  // namespace

std::unique_ptr<Command> make_filemd5_command() {
  return std::make_unique<FileMd5>();
}

}  // namespace server
