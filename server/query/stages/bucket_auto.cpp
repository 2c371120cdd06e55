// $bucketAuto sorts documents by a value and cuts them into about equally large buckets. Equal values are never separated.
//
//   documents -> sorted by value -> n/buckets at a time, and whatever equals the last of them
//
// With a granularity the borders are preferred numbers (ISO 3, IEC 60063, powers of two …).
#include <algorithm>
#include <cmath>

#include "bson/arithmetic.h"
#include "bson/compare.h"
#include "bson/keystring.h"
#include "server/core/operation.h"
#include "server/query/expressions/accumulating.h"
#include "server/query/stages/accumulated_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/preferred_numbers.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/sorting.h"
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
      : Stage(std::move(from)),
        plan_(plan),
        frame_(context.scope),
        sorter_(sorter_options(context), context.allowance),
        held_(context.allowance.memory()) {}

  bool next() override {
    if (!std::exchange(read_, true)) read_all();
    if (!ahead_) return false;
    make_bucket();
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  void read_all() {
    int64_t count = 0;
    for (; source().next(); ++count) {
      frame_.begin(source().document());
      frame_.work_on(frame_.root.size());
      Value value = plan_.group_by->evaluate(frame_);
      if (!value.exists()) value = Value::null();
      if (plan_.granularity) check_number(value);
      bson::KeyString key;
      key.append(value, false, frame_.collator());
      bson::Builder row;
      row.append("v", value);
      {
        bson::ArrayBuilder inputs = row.array("i");
        for (const AccumulatedField& field : plan_.fields) {
          bson::Builder box = inputs.object();  // its input may be missing
          box.append("", field.input->evaluate(frame_));
        }
      }
      sorter_.take(std::move(key).bytes(), 0, row.done());
    }
    frame_.begin({});
    sorter_.finish();
    share_ = std::max<int64_t>(1, std::llround(static_cast<double>(count) / static_cast<double>(plan_.buckets)));
    advance();
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

  void advance() {
    exec::SortEntry entry;
    if (sorter_.next(entry))
      ahead_ = std::move(entry.document);
    else
      ahead_.reset();
  }
  ValueView value_ahead() const { return ahead_->find("v"); }

  void make_bucket() {
    const bool takes_rest = ++made_ == plan_.buckets;
    accumulators_.clear();
    held_.set(0);
    for (const AccumulatedField& field : plan_.fields) accumulators_.push_back(field.make(frame_));
    Value min(value_ahead());
    Value last;
    for (int64_t taken = 0; ahead_ && (takes_rest || taken < share_); ++taken) last = take();
    while (ahead_ && bson::equal(value_ahead(), last, frame_.collator())) take();
    if (plan_.granularity) {
      // The border becomes the next preferred number, and the bucket takes the values below it.
      min = made_ == 1 ? Value(plan_.granularity->below(min.view().to_double())) : max_;
      const double border = plan_.granularity->above(last.view().to_double());
      while (ahead_ && value_ahead().to_double() < border) take();
      // Zero has no preferred number above it: the bucket of zeros ends where the first other value's begins.
      max_ = Value(border == 0 && ahead_ ? plan_.granularity->below(value_ahead().to_double()) : border);
    } else {
      max_ = ahead_ ? Value(value_ahead()) : last;
    }
    emit(min);
  }

  // Gives the document ahead to the bucket, and returns its value.
  Value take() {
    size_t i = 0;
    for (const Element& box : ahead_->find("i").as_document()) {
      Accumulator& accumulator = *accumulators_[i++];
      const size_t before = accumulator.bytes();
      frame_.work_on(box.bytes().size());
      accumulator.add(box.as_document().first());
      held_.set(held_.bytes() + accumulator.bytes() - before);
    }
    frame_.work(1 + plan_.fields.size());
    Value value(value_ahead());
    advance();
    return value;
  }

  void emit(const Value& min) {
    bson::Builder out;
    {
      bson::Builder id = out.object("_id");
      id.append("min", min).append("max", max_);
    }
    for (size_t i = 0; i < plan_.fields.size(); ++i) {
      frame_.keep(0, out.size());
      out.append(plan_.fields[i].name, result_of(frame_, *accumulators_[i]));
    }
    out_ = out.done();
    frame_.keep(0, out_.size());
  }

  const Plan& plan_;
  Frame frame_;
  exec::Sorter sorter_;
  Held held_;  // what accumulators_ got
  bool read_ = false;
  int64_t share_ = 0;                    // how many documents a bucket has at least
  std::optional<bson::Document> ahead_;  // the first document that is in no bucket yet: {v: its value, i: its inputs}
  int64_t made_ = 0;
  Value max_;  // of the last bucket made
  std::vector<std::unique_ptr<Accumulator>> accumulators_;
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
