#include "server/query/exec/text.h"

#include "server/query/fitting_int.h"
#include "storage/indexes/text_index.h"

namespace server::query::exec {

namespace {
constexpr size_t bytes_per_record = 64;  // in both containers
}

TextOr::TextOr(std::vector<StagePtr> scans, CollectionPtr collection, std::vector<bson::Bytes> beginnings,
               MetadataPlace& metadata, Allowance& allowance)
    : Stage("TEXT_OR"),
      collection_(std::move(collection)),
      beginnings_(std::move(beginnings)),
      metadata_(metadata),
      held_(allowance.memory()) {
  children_ = std::move(scans);
}

Step TextOr::read_entry(storage::Transaction& transaction) {
  Stage& scan = *children_[scan_];
  const Step step = scan.work(transaction);
  if (step == Step::end) ++scan_;
  if (step != Step::advanced) return Step::pending;
  const auto [place, first] = scores_.try_emplace(scan.record(), 0);
  place->second += storage::text_key_score(scan.key(), beginnings_[scan_].size());
  if (first) {
    held_.add(bytes_per_record);
    records_.push_back(scan.record());
  }
  return Step::pending;
}

Step TextOr::do_work(storage::Transaction& transaction) {
  if (scan_ < children_.size()) return read_entry(transaction);
  if (next_ == records_.size()) return Step::end;
  record_ = records_[next_++];
  storage::ReadInfo info;
  auto document = collection_->find(transaction, record_, &info);
  if (!document) return Step::pending;  // it was removed after its entries were read
  ++examined_;
  hops_ += info.hops;
  decoded_bytes_ += static_cast<int64_t>(info.chain_bytes);
  document_ = *std::move(document);
  metadata_.current.text_score = scores_.at(record_);
  return Step::advanced;
}

void TextOr::count(ExecutionStats& total) const {
  total.docs_examined += examined_;
  total.dedup_hops += hops_;
  total.dedup_bytes += decoded_bytes_;
  Stage::count(total);
}

void TextOr::append_figures(bson::Builder& out) const {
  out.append("docsExamined", fitting_int(examined_));
}

Step TextMatch::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced || text_.fits(child().document())) return step;
  ++rejected_;
  return Step::pending;
}

void TextMatch::append_details(bson::Builder& out) const {
  out.append("indexPrefix", prefix_).append("indexName", index_->spec().name);
  {
    auto parsed = out.object("parsedTextQuery");
    const auto list = [&](const char* name, const auto& texts) {
      auto array = parsed.array(name);
      for (const std::string& text : texts) array.append(text);
    };
    list("terms", text_.search().terms);
    list("negatedTerms", text_.search().negated_terms);
    list("phrases", text_.search().phrases);
    list("negatedPhrases", text_.search().negated_phrases);
  }
  out.append("textIndexVersion", index_->spec().text->version);
}

void TextMatch::append_figures(bson::Builder& out) const {
  out.append("docsRejected", fitting_int(rejected_));
}

Step FilterFetched::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced) return step;
  ++seen_;
  return filter_.matches(child().document()) ? Step::advanced : Step::pending;
}

void FilterFetched::append_figures(bson::Builder& out) const {
  out.append("docsExamined", 0).append("alreadyHasObj", fitting_int(seen_));
}

}  // namespace server::query::exec
