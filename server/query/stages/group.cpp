// $group makes one document of those with the same key, and accumulates their
// values.
//
// Groups are kept in a hash table. When its memory is full, documents of groups
// that are not in it are written to temporary files by the hash of their key, and
// grouped file by file afterwards.
#include <unordered_map>

#include "base/hash.h"
#include "bson/compare.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/expressions/accumulating.h"
#include "server/query/stages/accumulated_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/spill_file.h"
#include "server/query/stages/support.h"
#include "storage/store.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

struct Plan {
  std::shared_ptr<Expression> key;
  std::vector<AccumulatedField> fields;
};

class Group final : public Stage {
 public:
  Group(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)),
        plan_(plan),
        context_(context),
        frame_(context.scope),
        held_(context.allowance.memory()),
        groups_(0, bson::ValueHash{frame_.collator()}, bson::ValueEqual{frame_.collator()}) {}

  bool next() override {
    if (!read_) {
      read_ = true;
      while (source().next()) {
        frame_.begin(source().document());
        frame_.work(1 + plan_.fields.size());
        Value key = plan_.key->evaluate(frame_);
        std::vector<Value> inputs;
        inputs.reserve(plan_.fields.size());
        for (const AccumulatedField& field : plan_.fields) inputs.push_back(field.input->evaluate(frame_));
        take(std::move(key), inputs, 0);
      }
      collect(1);
      at_ = groups_.begin();
    }
    while (at_ == groups_.end()) {
      if (waiting_.empty()) return false;
      read_back();
    }
    emit(at_->first, at_->second);
    ++at_;
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  using Accumulators = std::vector<std::unique_ptr<Accumulator>>;
  static constexpr int fan_out = 16;
  // A table of less than this doesn't go to disk because others have taken the memory: many tiny tables would never end.
  static constexpr size_t short_table_bytes = 64 << 10;
  static constexpr size_t beside_bytes = 1 << 20;  // of the budget, which a table leaves to the rest of its operation
  struct Aside {
    std::unique_ptr<SpillFile> file;
    int level;
  };

  void take(Value key, const std::vector<Value>& inputs, int level) {
    if (!key.exists()) key = Value::null();
    auto found = groups_.find(key);
    if (found == groups_.end()) {
      // Once a document was put aside, those of other groups follow it even if there is room again: its group may be among them.
      if (!aside_.empty() || held_.bytes() > stage_memory_max) return put_aside(key, inputs, level);
      Accumulators fresh;
      // A group's beginning depends on its key alone, since its documents come in any order.
      const DocumentView document =
          std::exchange(frame_.root, key.view().is_object() ? key.view().as_document() : DocumentView());
      for (const AccumulatedField& field : plan_.fields) fresh.push_back(field.make(frame_));
      frame_.root = document;
      size_t bytes = key.view().bytes().size() + 128;
      for (const auto& accumulator : fresh) bytes += accumulator->bytes();
      // The accumulators' next values count as well, since a group that is there can't go to disk any more, and so does the rest
      // that the operation needs.
      size_t incoming = beside_bytes;
      for (const Value& input : inputs) incoming += input.view().bytes().size();
      if (!held_.add_if_room(bytes + incoming)) {
        // Others may have taken the memory before this stage's share is full.
        if (context_.allow_disk_use && held_.bytes() >= short_table_bytes) return put_aside(key, inputs, level);
        held_.add(bytes + incoming);
      }
      held_.set(held_.bytes() - incoming);
      found = groups_.emplace(std::move(key), std::move(fresh)).first;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      Accumulator& accumulator = *found->second[i];
      const size_t before = accumulator.bytes();
      frame_.work_on(inputs[i].view().bytes().size());
      accumulator.add(inputs[i]);
      held_.set(held_.bytes() + accumulator.bytes() - before);
    }
    if (held_.bytes() > 8 * stage_memory_max) {
      refuse(base::ErrorCode::exceeded_memory_limit,
             "$group used too much memory for single groups and cannot spill them to disk");
    }
  }

  void put_aside(const Value& key, const std::vector<Value>& inputs, int level) {
    if (!context_.allow_disk_use) {
      refuse(base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed,
             "Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in.");
    }
    if (aside_.empty()) aside_.resize(fan_out);
    auto& file = aside_[bson::hash_value(key, static_cast<uint64_t>(level) + 1, frame_.collator()) % fan_out];
    if (!file) file = std::make_unique<SpillFile>(spill_directory(*context_.op), context_.op->services().store->engine());
    bson::Builder row;
    row.append("k", key);
    {
      bson::ArrayBuilder values = row.array("v");
      for (const Value& input : inputs) {
        bson::Builder box = values.object();
        box.append("", input);
      }
    }
    file->write(row.done());
  }

  void read_back() {
    groups_.clear();
    held_.set(0);
    const Aside part = std::move(waiting_.back());
    waiting_.pop_back();
    part.file->rewind();
    while (auto row = part.file->read()) {
      std::vector<Value> inputs;
      for (const Element& box : row->find("v").as_document()) inputs.emplace_back(box.as_document().first());
      take(Value(row->find("k")), inputs, part.level);
    }
    collect(part.level + 1);
    at_ = groups_.begin();
  }

  void collect(int level) {
    for (auto& file : aside_) {
      if (file) waiting_.push_back({std::move(file), level});
    }
    aside_.clear();
  }

  void emit(const Value& key, const Accumulators& accumulators) {
    bson::Builder out;
    out.append("_id", key);
    for (size_t i = 0; i < accumulators.size(); ++i) {
      frame_.keep(0, out.size());
      out.append(plan_.fields[i].name, result_of(frame_, *accumulators[i]));
    }
    out_ = out.done();
    frame_.keep(0, out_.size());
  }

  const Plan& plan_;
  PipelineContext& context_;
  Frame frame_;
  bool read_ = false;
  Held held_;  // the groups
  using Groups = std::unordered_map<Value, Accumulators, bson::ValueHash, bson::ValueEqual>;
  Groups groups_;
  Groups::iterator at_;
  std::vector<std::unique_ptr<SpillFile>> aside_;
  std::vector<Aside> waiting_;
  bson::Document out_;
};

class GroupSpec final : public PlainSpec {
 public:
  GroupSpec(const Element& specification, Plan plan) : PlainSpec("$group", specification), plan_(std::move(plan)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<Group>(std::move(source), plan_, context);
  }
  bool needs_documents() const override {
    if (!plan_.key->constant()) return true;
    for (const AccumulatedField& field : plan_.fields) {
      if (!field.input->constant()) return true;
    }
    return false;
  }

 private:
  Plan plan_;
};

}  // namespace

StageSpecPtr parse_group(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(15947, "a group's fields must be specified in an object");
  Plan plan;
  for (const Element& field : specification.as_document()) {
    if (field.name == "_id") {
      plan.key = parse_expression(field, context.scope);
    } else {
      plan.fields.push_back(parse_accumulated_field(field, context));
    }
  }
  if (!plan.key) refuse(15955, "a group specification must include an _id");
  return std::make_unique<GroupSpec>(specification, std::move(plan));
}

}  // namespace server::query
