// dedupAdvise estimates how much dedup would save on a collection, whether it is on there or not.
//
// It reads and sketches all documents, and encodes those of some chains in memory; it writes nothing.
#include <zstd.h>

#include <algorithm>
#include <shared_mutex>

#include "base/error.h"
#include "base/random.h"
#include "dedup/advisor.h"
#include "server/commands/dedup/lineage_key.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr double sample_documents_default = 10'000;
constexpr double sample_documents_min = 1'000;  // a smaller sample tells nothing; reading costs the same
constexpr size_t batch_documents = 256;
constexpr size_t batch_bytes = 4 << 20;
constexpr int zstd_level = 3;          // the level with which the files are compressed
constexpr double worth_ratio = 1.1;    // below it dedup isn't worth its memory
constexpr double archive_gain = 1.15;  // `archive` must be better by this factor to be recommended

size_t zstd_bytes(base::BytesView block) {
  thread_local base::Bytes out;
  out.resize(ZSTD_compressBound(block.size()));
  const size_t bytes = ZSTD_compress(out.data(), out.size(), block.data(), block.size(), zstd_level);
  return ZSTD_isError(bytes) ? block.size() : bytes;
}

// Reads {sample: 0.01} or {sample: {documents: 5000}} as a share of the documents.
double share_of(const Arguments& arguments, int64_t documents) {
  const auto sample = arguments.any("sample");
  const double all = std::max(1.0, static_cast<double>(documents));
  double wanted = sample_documents_default;
  if (sample.is_number()) {
    const double share = sample.to_double();
    if (!(share > 0 && share <= 1)) {
      throw OperationError(ErrorCode::bad_value,
                           "'sample' must be above 0 and at most 1, or { documents: <count> }, got " + std::to_string(share));
    }
    wanted = share * all;
  } else if (sample.is_object()) {
    const Arguments fields(arguments.dotted("sample"), sample.as_document());
    fields.only({"documents"});
    const int64_t count = fields.required_integer("documents");
    if (count < 1)
      throw OperationError(51024, "BSON field 'documents' value must be >= 1, actual value '" + std::to_string(count) + "'");
    wanted = static_cast<double>(count);
  } else if (!sample.is_nullish()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted("sample") + "' is the wrong type '" +
                                                       std::string(bson::type_name(sample.type())) +
                                                       "', expected types '[double, int, long, decimal, object]'");
  }
  return std::min(1.0, std::max(wanted, sample_documents_min) / all);
}

// Finds contents by name, each in a transaction of its own.
class Contents : public dedup::RecordSource {
 public:
  Contents(OperationContext& op, storage::Store& store, storage::Collection& collection)
      : op_(op), store_(store), collection_(collection) {}

  std::optional<base::Bytes> fetch(const dedup::ContentId& id) override {
    op_.check_interrupt();
    const auto schema = base::hold_shared(collection_.schema_mutex(), op_.interrupted());
    if (collection_.dropped()) return std::nullopt;
    storage::Transaction transaction(store_, storage::Transaction::Mode::read);
    return collection_.records().find(transaction, id.record, id.generation);
  }

 private:
  OperationContext& op_;
  storage::Store& store_;
  storage::Collection& collection_;
};

class Study {
 public:
  Study(OperationContext& op, std::shared_ptr<storage::Collection> collection, double share)
      : op_(op),
        store_(write::store_of(op)),
        collection_(std::move(collection)),
        contents_(op, store_, *collection_),
        advisor_(options(*collection_, share), base::entropy64(), zstd_bytes) {}

  void run() {
    Progress progress{.what = "reading documents", .done = 0, .total = collection_->record_count()};
    while (read_batch()) {
      progress.done += static_cast<int64_t>(batch_.size());
      progress.total = std::max(progress.total, progress.done);
      op_.set_progress(progress);
      for (const auto& [id, bytes] : batch_) {
        op_.check_interrupt();
        const bson::DocumentView document(bytes);
        const auto lineage = storage::lineage_of(collection_->options().dedup, document);
        const auto seen = advisor_.add(id, bytes, contents_, lineage);
        if (!seen.sampled) continue;
        keys_.add(id.record, document, seen.source ? std::optional(seen.source->record) : std::nullopt);
      }
    }
    advice_ = advisor_.finish(contents_, op_.interrupted());
  }

  const dedup::Advice& advice() const { return advice_; }
  std::optional<LineageKey> key() const { return keys_.best(); }

 private:
  static dedup::AdvisorOptions options(const storage::Collection& collection, double share) {
    dedup::AdvisorOptions options;
    options.profiles = {dedup::Options::of(dedup::Profile::balanced), dedup::Options::of(dedup::Profile::archive)};
    options.share = share;
    options.contents_expected = static_cast<uint64_t>(std::max<int64_t>(0, collection.record_count()));
    return options;
  }

  // Each batch has a storage snapshot: one for all of a large collection would keep the contents that others overwrite meanwhile.
  bool read_batch() {
    batch_.clear();
    const auto schema = base::hold_shared(collection_->schema_mutex(), op_.interrupted());
    if (collection_->dropped()) throw OperationError(ErrorCode::query_plan_killed, "collection dropped: " + collection_->ns());
    storage::Transaction transaction(store_, storage::Transaction::Mode::read);
    storage::RecordCursor cursor = collection_->records().cursor(transaction);
    if (reached_ != 0) cursor.seek_after(reached_);
    for (size_t bytes = 0; batch_.size() < batch_documents && bytes < batch_bytes && cursor.next();) {
      reached_ = cursor.id();
      batch_.emplace_back(dedup::ContentId{collection_->id(), reached_, cursor.generation()}, cursor.content());
      bytes += batch_.back().second.size();
    }
    return !batch_.empty();
  }

  OperationContext& op_;
  storage::Store& store_;
  const std::shared_ptr<storage::Collection> collection_;
  Contents contents_;
  dedup::Advisor advisor_;
  LineageKeyFinder keys_;
  storage::RecordId reached_ = 0;
  std::vector<std::pair<dedup::ContentId, base::Bytes>> batch_;
  dedup::Advice advice_;
};

double ratio(uint64_t before, uint64_t after) {
  return after > 0 ? static_cast<double>(before) / static_cast<double>(after) : 1.0;
}

void append_estimate(bson::Builder& out, const dedup::Advice& advice, const dedup::TrialResult& trial) {
  const auto documents = static_cast<double>(std::max<uint64_t>(advice.contents, 1));
  out.append("ratio", ratio(advice.content_bytes, trial.stored_bytes));
  out.append("ratioWithBlockCompression", ratio(advice.content_bytes, trial.block_bytes));
  out.append("relativeError", trial.error);
  append_count(out, "storedBytes", static_cast<int64_t>(trial.stored_bytes));
  append_count(out, "blockBytes", static_cast<int64_t>(trial.block_bytes));
  out.append("bytesPerDocument", static_cast<double>(trial.block_bytes) / documents);
  out.append("withSource", static_cast<double>(trial.with_source) / documents);
  out.append("deltas", static_cast<double>(trial.deltas) / documents);
  auto hops = out.object("hops");
  hops.append("mean", trial.hops_mean);
  append_count(hops, "max", trial.hops_max);
}

void append_recommended(bson::Builder& out, const Study& study) {
  const dedup::Advice& advice = study.advice();
  const dedup::TrialResult& balanced = advice.trials[0];
  const dedup::TrialResult& archive = advice.trials[1];
  const double plain = ratio(advice.plain_bytes, advice.plain_block_bytes);
  const double gain = ratio(advice.content_bytes, balanced.block_bytes) / plain;
  const double archive_by = ratio(balanced.block_bytes, archive.block_bytes);
  const bool worth = advice.sampled > 0 && balanced.deltas > 0 && gain >= worth_ratio;
  const auto key = worth ? study.key() : std::nullopt;
  {
    auto dedup = out.object("dedup");
    dedup.append("enabled", worth);
    if (worth) dedup.append("profile", archive_by >= archive_gain ? "archive" : "balanced");
    if (key) dedup.append("key", key->path);
  }
  if (key) {
    auto found = out.object("key");
    found.append("agreement", key->agreement);
    append_count(found, "values", key->values);
  }
  out.append("gainOverBlockCompression", gain);
  const char* why = "too little is alike: block compression alone does nearly as well";
  if (advice.sampled == 0)
    why = "there are no documents to judge by";
  else if (worth && archive_by >= archive_gain)
    why = "archive is clearly smaller; choose balanced where old versions are read often";
  else if (worth)
    why = "much is alike";
  out.append("why", why);
}

class DedupAdvise : public Command {
 public:
  std::string_view name() const override { return "dedupAdvise"; }
  std::string_view help() const override {
    return "estimates what dedup saves on a collection, without changing anything; reads all of it\n"
           "{ dedupAdvise: <collection>, sample: <part of the documents to encode, or { documents: <count> }>, maxTimeMS: <ms> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"sample"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    (void)share_of(arguments, 1);
    const std::string ns = request.ns();
    const auto collection = write::store_of(op).catalog().open(ns);
    if (!collection) throw OperationError(ErrorCode::namespace_not_found, "Collection '" + ns + "' does not exist");
    if (collection->read_only()) throw OperationError(ErrorCode::illegal_operation, "'" + ns + "' names contents, it keeps none");
    Study study(op, collection, share_of(arguments, collection->record_count()));
    study.run();
    const dedup::Advice& advice = study.advice();
    reply.append("ns", ns);
    append_count(reply, "documents", static_cast<int64_t>(advice.contents));
    append_count(reply, "logicalBytes", static_cast<int64_t>(advice.content_bytes));
    {
      auto sample = reply.object("sample");
      sample.append("share", advice.share);
      append_count(sample, "documents", static_cast<int64_t>(advice.sampled));
      append_count(sample, "logicalBytes", static_cast<int64_t>(advice.sampled_bytes));
      append_count(sample, "chains", static_cast<int64_t>(advice.chains));
    }
    {
      auto plain = reply.object("withoutDedup");
      plain.append("ratioWithBlockCompression", ratio(advice.plain_bytes, advice.plain_block_bytes));
    }
    {
      auto balanced = reply.object("balanced");
      append_estimate(balanced, advice, advice.trials[0]);
    }
    {
      auto archive = reply.object("archive");
      append_estimate(archive, advice, advice.trials[1]);
    }
    {
      auto recommended = reply.object("recommended");
      append_recommended(recommended, study);
    }
    append_count(reply, "millis", op.elapsed_us() / 1000);
  }
};

}  // namespace

std::unique_ptr<Command> make_dedup_advise_command() {
  return std::make_unique<DedupAdvise>();
}

}  // namespace server
