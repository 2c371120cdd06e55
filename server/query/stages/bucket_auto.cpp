// $bucketAuto sorts documents by a value and cuts them into about equally large buckets. Equal values are never separated.
//
//   documents -> sorted by value -> n/buckets at a time, and whatever equals the last of them
//
// With a granularity the borders are preferred numbers (ISO 3, IEC 60063, powers of two …).
#include <algorithm>
#include <cmath>

#include "bson/arithmetic.h"
#include "bson/compare.h"
#include "server/core/operation.h"
#include "server/query/expressions/accumulate.h"
#include "server/query/stages/accumulated_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/preferred_numbers.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

struct Plan {
  std::shared_ptr<Expression> group_by;
  int64_t buckets = 0;
  std::vector<AccumulatedField> fields;
  std::optional<PreferredNumbers> granularity;
};

class BucketAuto final : public Stage {
 public:
  BucketAuto(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)), plan_(plan), frame_(context.scope), held_(context.allowance.memory()) {}

  bool next() override {
    if (!std::exchange(read_, true)) {
      read_all();
      make_buckets();
    }
    if (at_ == buckets_.size()) return false;
    out_ = std::move(buckets_[at_++]);
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  struct Entry {
    Value value;
    std::vector<Value> inputs;
  };
  struct Bucket {
    Value min, max;
    std::vector<std::unique_ptr<Accumulator>> accumulators;
  };

  void read_all() {
    while (source().next()) {
      frame_.begin(source().document());
      frame_.work_on(frame_.root.size());
      Entry entry{plan_.group_by->evaluate(frame_), {}};
      if (!entry.value.exists()) entry.value = Value::null();
      if (plan_.granularity) check_number(entry.value);
      size_t bytes = sizeof entry + entry.value.view().bytes().size();
      for (const AccumulatedField& field : plan_.fields) {
        entry.inputs.push_back(field.input->evaluate(frame_));
        bytes += sizeof(Value) + entry.inputs.back().view().bytes().size();
      }
      held_.add(bytes);
      if (held_.bytes() > stage_memory_max) {
        refuse(ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed, "$bucketAuto used more than 104857600 bytes");
      }
      entries_.push_back(std::move(entry));
    }
    std::stable_sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
      frame_.work();
      return bson::compare(a.value, b.value, frame_.collator()) < 0;
    });
  }

  static void check_number(const Value& value) {
    if (!value.view().is_number()) {
      refuse(40258, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: " +
                        type_of(value));
    }
    const double number = value.view().to_double();
    if (std::isnan(number))
      refuse(40259, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN");
    if (number < 0)
      refuse(40260, "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number");
  }

  void make_buckets() {
    if (entries_.empty()) return;
    const auto share = std::max<size_t>(
        1, static_cast<size_t>(std::llround(static_cast<double>(entries_.size()) / static_cast<double>(plan_.buckets))));
    std::vector<Bucket> made;
    for (size_t at = 0; at < entries_.size();) {
      Bucket bucket = begin(entries_[at].value);
      const bool last = static_cast<int64_t>(made.size()) + 1 == plan_.buckets;
      size_t end = last ? entries_.size() : std::min(entries_.size(), at + share);
      while (end < entries_.size() && bson::equal(entries_[end].value, entries_[end - 1].value, frame_.collator())) ++end;
      if (plan_.granularity) {
        end = round(made, bucket, at, end);
      } else {
        bucket.max = end < entries_.size() ? entries_[end].value : entries_[end - 1].value;
      }
      for (; at < end; ++at) {
        for (size_t i = 0; i < plan_.fields.size(); ++i) bucket.accumulators[i]->add(entries_[at].inputs[i]);
        frame_.work(1 + plan_.fields.size());
      }
      made.push_back(std::move(bucket));
    }
    for (Bucket& bucket : made) emit(bucket);
    entries_.clear();
    held_.set(0);
  }

  // The border becomes the next preferred number, and the bucket takes the values below it.
  size_t round(const std::vector<Bucket>& made, Bucket& bucket, size_t at, size_t end) const {
    bucket.min = made.empty() ? Value(plan_.granularity->below(bucket.min.view().to_double())) : made.back().max;
    const double last = entries_[end - 1].value.view().to_double();
    const double border = plan_.granularity->above(last);
    bucket.max = Value(border);
    while (end < entries_.size() && entries_[end].value.view().to_double() < border) ++end;
    // Zero has no preferred number above it: the bucket of zeros ends where the first other value's begins.
    if (border == 0 && end < entries_.size())
      bucket.max = Value(plan_.granularity->below(entries_[end].value.view().to_double()));
    return std::max(end, at + 1);
  }

  Bucket begin(const Value& min) {
    Bucket bucket{min, Value::null(), {}};
    for (const AccumulatedField& field : plan_.fields) bucket.accumulators.push_back(field.make(frame_));
    return bucket;
  }

  void emit(const Bucket& bucket) {
    bson::Builder out;
    {
      bson::Builder id = out.object("_id");
      id.append("min", bucket.min).append("max", bucket.max);
    }
    for (size_t i = 0; i < plan_.fields.size(); ++i) out.append(plan_.fields[i].name, bucket.accumulators[i]->result());
    buckets_.push_back(out.done());
  }

  const Plan& plan_;
  Frame frame_;
  Held held_;  // the entries
  bool read_ = false;
  std::vector<Entry> entries_;
  std::vector<bson::Document> buckets_;
  size_t at_ = 0;
  bson::Document out_;
};

int64_t count_of(const Element& field) {
  if (!field.is_number())
    refuse(40241, "The $bucketAuto 'buckets' field must be a numeric value, but found type: " + type_of(field) + ".");
  const auto count = bson::number::exact_int64(Value(field));
  if (!count || *count > INT32_MAX || *count < INT32_MIN) {
    refuse(40242, "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found " +
                      std::to_string(field.to_double()) + ".");
  }
  if (*count <= 0)
    refuse(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: " + std::to_string(*count) + ".");
  return *count;
}

}  // namespace

StageSpecPtr parse_bucket_auto(const Element& specification, PipelineContext& context) {
  if (!specification.is_object())
    refuse(40240, "The argument to $bucketAuto must be an object, but found type: " + type_of(specification) + ".");
  Plan plan;
  bool has_output = false;
  for (const Element& field : specification.as_document()) {
    if (field.name == "groupBy") {
      const bool path = field.is_string() && field.as_string().substr(0, 1) == "$";
      if (!path && !field.is_object()) {
        refuse(40239,
               "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: " +
                   type_of(field) + ".");
      }
      plan.group_by = parse_expression(field, context.scope);
    } else if (field.name == "buckets") {
      plan.buckets = count_of(field);
    } else if (field.name == "output") {
      if (!field.is_object())
        refuse(40244, "The $bucketAuto 'output' field must be an object, but found type: " + type_of(field) + ".");
      for (const Element& output : field.as_document()) plan.fields.push_back(parse_accumulated_field(output, context));
      has_output = true;
    } else if (field.name == "granularity") {
      if (!field.is_string())
        refuse(40261, "The $bucketAuto 'granularity' field must be a string, but found type: " + type_of(field) + ".");
      plan.granularity = PreferredNumbers::named(field.as_string());
      if (!plan.granularity) refuse(40257, "Unknown rounding granularity '" + std::string(field.as_string()) + "'");
    } else {
      refuse(40245, "Unrecognized option to $bucketAuto: " + std::string(field.name) + ".");
    }
  }
  if (!plan.group_by || plan.buckets == 0) refuse(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified.");
  if (!has_output) plan.fields.push_back(counting_field("count"));
  return make_spec(specification, [plan = std::move(plan)](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<BucketAuto>(std::move(source), plan, running);
  });
}

}  // namespace server::query
