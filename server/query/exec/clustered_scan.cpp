#include "server/query/exec/clustered_scan.h"

#include "server/query/fitting_int.h"

namespace server::query::exec {

ClusteredScan::ClusteredScan(CollectionPtr collection, std::unique_ptr<IndexScan> entries, Options options,
                             ClusteredScanText text)
    : Stage(text.low || text.high ? "CLUSTERED_IXSCAN" : "COLLSCAN"),
      collection_(std::move(collection)),
      entries_(std::move(entries)),
      options_(std::move(options)),
      text_(std::move(text)) {}

Step ClusteredScan::do_work(storage::Transaction& transaction) {
  const Step step = entries_->work(transaction);
  if (step != Step::advanced) return step;
  ++examined_;
  if (!options_.fetch) return Step::advanced;
  storage::ReadInfo info;
  auto document = collection_->find(transaction, entries_->record(), &info);
  hops_ += info.hops;
  decoded_bytes_ += static_cast<int64_t>(info.chain_bytes);
  if (!document) return Step::pending;
  document_ = *std::move(document);
  return options_.filter.matches(document_) ? Step::advanced : Step::pending;
}

void ClusteredScan::count(ExecutionStats& total) const {
  total.docs_examined += examined_;
  total.dedup_hops += hops_;
  total.dedup_bytes += decoded_bytes_;
}

void ClusteredScan::append_details(bson::Builder& out) const {
  out.append("direction", options_.direction == storage::Direction::forward ? "forward" : "backward");
  if (text_.low) out.append("minRecord", *text_.low);
  if (text_.high) out.append("maxRecord", *text_.high);
}

void ClusteredScan::append_figures(bson::Builder& out) const {
  out.append("docsExamined", fitting_int(examined_));
}

}  // namespace server::query::exec
