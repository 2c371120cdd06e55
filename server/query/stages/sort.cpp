// $sort reads everything, sorts it and returns it; when its memory is full it
// writes sorted runs to disk. With a $limit right after it, it keeps only that
// many.
#include <algorithm>

#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/document_metadata.h"
#include "server/query/exec/sort_runs.h"
#include "server/query/query_parameters.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/spill_file.h"
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
        limit_(limit),
        metadata_(metadata),
        context_(context),
        memory_bytes_max_(context.op ? static_cast<size_t>(sort_bytes_max(*context.op)) : stage_memory_max),
        held_(context.allowance.memory()) {}

  bool next() override {
    if (!read_) read_all();
    if (runs_) {
      if (!runs_->next(current_)) return false;
    } else {
      if (at_ >= entries_.size()) return false;
      current_ = std::move(entries_[at_++]);
    }
    exec::give_back(current_, metadata_);
    if (metadata_ && metadata_->wants(MetaField::sort_key)) metadata_->current.sort_key = pattern_.values(current_.document);
    return true;
  }
  DocumentView document() override { return current_.document; }

 private:
  void read_all() {
    read_ = true;
    int64_t arrival = 0;
    while (source().next()) {
      const DocumentView document = source().document();
      context_.allowance.work_on(document.size());
      exec::SortEntry entry{pattern_.key(document), arrival++, 0, {}, exec::kept_metadata(metadata_)};
      if (full()) {
        if (!(entry < entries_.front())) continue;
        std::pop_heap(entries_.begin(), entries_.end());
        held_.set(held_.bytes() - entries_.back().bytes());
        entries_.pop_back();
      }
      entry.document = bson::Document(document);
      held_.add(entry.bytes());
      entries_.push_back(std::move(entry));
      if (limit_ > 0 && entries_.size() == static_cast<size_t>(limit_) && !runs_) {
        std::make_heap(entries_.begin(), entries_.end());
        heaped_ = true;
      } else if (heaped_) {
        std::push_heap(entries_.begin(), entries_.end());
      }
      if (held_.bytes() > memory_bytes_max_) spill();
    }
    if (runs_ && !entries_.empty()) return spill();
    exec::sort_entries(entries_, context_.allowance);
  }

  // Returns whether as many entries are kept as the limit allows: then only smaller ones are added.
  bool full() const { return limit_ > 0 && !runs_ && entries_.size() >= static_cast<size_t>(limit_); }

  void spill() {
    if (!context_.allow_disk_use) {
      refuse(base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed,
             "Sort exceeded memory limit of " + std::to_string(memory_bytes_max_) +
                 " bytes, but did not opt in to external sorting.");
    }
    if (!runs_) runs_ = std::make_unique<exec::SortRuns>(spill_directory(*context_.op), context_.op->services().store->engine());
    exec::sort_entries(entries_, context_.allowance);
    runs_->add(entries_);
    entries_.clear();
    heaped_ = false;
    held_.set(0);
  }

  const SortPattern& pattern_;
  const int64_t limit_;
  MetadataPlace* const metadata_;  // of the documents that it sorts; nullptr: they have none
  PipelineContext& context_;
  const size_t memory_bytes_max_;
  bool read_ = false, heaped_ = false;
  size_t at_ = 0;
  Held held_;  // the entries
  std::vector<exec::SortEntry> entries_;
  std::unique_ptr<exec::SortRuns> runs_;
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

StageSpecPtr parse_sort(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(15973, "the $sort key specification must be an object");
  if (specification.as_document().empty()) refuse(15976, "$sort stage must have at least one sort key");
  return std::make_unique<SortSpec>(specification, context.scope);
}

}  // namespace server::query
