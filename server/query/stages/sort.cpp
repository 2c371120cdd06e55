// $sort reads everything, sorts it and returns it; when its memory is full it
// writes sorted runs to disk. With a $limit right after it, it keeps only that
// many.
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/document_metadata.h"
#include "server/query/query_parameters.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/sorting.h"
#include "server/query/stages/support.h"
#include "storage/store.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

class Sort final : public Stage {
 public:
  Sort(StagePtr from, const SortPattern& pattern, int64_t limit, MetadataPlace* metadata, PipelineContext& context)
      : Stage(std::move(from)),
        pattern_(pattern),
        metadata_(metadata),
        context_(context),
        sorter_(options(limit, metadata, context), context.allowance) {}

  bool next() override {
    if (!read_) read_all();
    if (!sorter_.next(current_)) return false;
    if (metadata_ && metadata_->wants(MetaField::sort_key))
      metadata_->current.sort_key = pattern_.values(current_.document, &context_.allowance);
    return true;
  }
  DocumentView document() override { return current_.document; }

 private:
  static exec::Sorter::Options options(int64_t limit, MetadataPlace* metadata, const PipelineContext& context) {
    exec::Sorter::Options options = sorter_options(context);
    options.limit = limit;
    options.metadata = metadata;
    return options;
  }

  void read_all() {
    read_ = true;
    while (source().next()) {
      const DocumentView document = source().document();
      context_.allowance.work_on(document.size());
      sorter_.take(pattern_.key(document, &context_.allowance), 0, document);
    }
    sorter_.finish();
  }

  const SortPattern& pattern_;
  MetadataPlace* const metadata_;  // of the documents that it sorts; nullptr: they have none
  PipelineContext& context_;
  bool read_ = false;
  exec::Sorter sorter_;
  exec::SortEntry current_;
};

class SortSpec final : public PlainSpec, public Sorting {
 public:
  SortSpec(const Element& specification, const Scope& scope)
      : PlainSpec("$sort", specification),
        document_(specification.as_document()),
        pattern_(SortPattern::parse(document_, scope.collator(), scope.metadata())),
        metadata_(scope.metadata()) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<Sort>(std::move(source), pattern_, keep_, metadata_.get(), context);
  }
  DocumentView pattern() const override { return document_; }
  void keep(int64_t limit) override { keep_ = limit; }

 private:
  bson::Document document_;
  SortPattern pattern_;
  std::shared_ptr<MetadataPlace> metadata_;
  int64_t keep_ = 0;
};

}  // namespace

exec::Sorter::Options sorter_options(const PipelineContext& context) {
  return {.allow_disk_use = context.allow_disk_use,
          .memory_bytes_max = context.op ? static_cast<size_t>(sort_bytes_max(*context.op)) : stage_memory_max,
          .engine = context.op ? &context.op->services().store->engine() : nullptr};
}

StageSpecPtr parse_sort(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(15973, "the $sort key specification must be an object");
  if (specification.as_document().empty()) refuse(15976, "$sort stage must have at least one sort key");
  return std::make_unique<SortSpec>(specification, context.scope);
}

}  // namespace server::query
