// $densify makes documents for values of a field that are missing between existing ones.
//
//   {n: 1} {n: 4}  step 1  ->  {n: 1} {n: 2} {n: 3} {n: 4}
//
// The made values lie on a grid that begins at the lower bound; documents beside the grid stay.
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

#include "bson/arithmetic.h"
#include "bson/compare.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "server/core/operation.h"
#include "server/query/expressions/date_units.h"
#include "server/query/field_path.h"
#include "server/query/place_field.h"
#include "server/query/stages/expanded.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

constexpr int64_t made_max = 500'000;  // documents

enum class Bounds { between, full, partition };

struct Plan {
  std::string field;
  std::shared_ptr<Expression> partition_by;  // nullptr: there is one partition
  Bounds bounds = Bounds::full;
  Value from, to;  // of `between`: the first is included, the last isn't
  Value step;
  std::optional<DateUnit> unit;  // the step's

  Value after(const ValueView& value) const {
    if (!unit) return bson::number::add(value, step);
    const LocalTime time{std::chrono::milliseconds(value.as_date().ms)};
    return Value(bson::Date{shifted(time, *unit, *bson::number::exact_int64(step)).time_since_epoch().count()});
  }
};

// Its source is sorted by the field and, if partitions have bounds of their own, by the partition's fields first.
class Densify final : public Stage {
 public:
  Densify(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)), plan_(plan), frame_(context.scope), held_(context.allowance.memory()) {}

  bool next() override {
    for (;;) {
      if (filled_ && make_one()) return true;
      filled_ = nullptr;
      if (waits_) {
        waits_ = false;
        out_ = std::move(read_);
        return true;
      }
      if (!ended_ && !read_one()) end_source();
      if (ended_ && !fill_next_end()) return false;
    }
  }
  DocumentView document() override { return out_; }

 private:
  struct Partition {
    bson::Document fields;  // fields that made documents have
    Value next;             // the next value on the grid
  };

  // Reads the next document; the missing ones before it come first. Returns false if there is none.
  bool read_one() {
    if (!source().next()) return false;
    read_ = bson::Document(source().document());
    waits_ = true;
    const ValueView value = bson::value_at(read_, plan_.field);
    if (value.is_nullish()) return true;
    if (!value.is_number() && value.type() != bson::Type::date) refuse(5733201, "Densify field type must be numeric or a date");
    if (value.is_number() && plan_.unit)
      refuse(6053600, "Encountered numeric densify value in collection when step has a date unit.");
    if (!value.is_number() && !plan_.unit)
      refuse(6053600, "Encountered date densify value in collection when step does not have a date unit.");
    if (!first_.exists()) first_ = Value(value);
    last_ = Value(value);
    Partition& own = partition_of(value);
    fill(own, value, false);
    if (filled_) return true;
    if (bson::compare(own.next, value) == 0) own.next = plan_.after(own.next);
    return true;
  }

  Partition& partition_of(const ValueView& value) {
    bson::Document fields;
    if (plan_.partition_by) {
      frame_.begin(read_);
      fields = bson::Document(plan_.partition_by->evaluate(frame_).view().as_document());
    }
    bson::KeyString key;
    key.append(Value(fields.view()), false, frame_.collator());
    const auto [at, is_new] = places_.try_emplace(bson::Bytes(key.bytes()), partitions_.size());
    if (is_new) {
      check_room(fields);
      held_.add(sizeof(Partition) + fields.size() + key.bytes().size());
      if (held_.bytes() > stage_memory_max)
        refuse(6007200, "$densify exceeded memory limit of " + std::to_string(stage_memory_max));
      const ValueView begin = plan_.bounds == Bounds::between ? plan_.from : plan_.bounds == Bounds::full ? first_ : value;
      partitions_.push_back({std::move(fields), Value(begin)});
    }
    return partitions_[at->second];
  }

  // Checks that the field can be set beside those of the partition.
  void check_room(DocumentView fields) const {
    std::string_view path = plan_.field;
    for (;;) {
      const size_t dot = path.find('.');
      const ValueView at = fields.find(path.substr(0, dot));
      if (at.is_array()) refuse(5733307, "$densify cannot generate fields nested inside arrays");
      if (dot == std::string_view::npos || !at.exists()) return;
      if (!at.is_object()) refuse(5733308, "$densify cannot overwrite non-object values with objects");
      fields = at.as_document();
      path = path.substr(dot + 1);
    }
  }

  void fill(Partition& partition, const ValueView& until, bool with_it) {
    const bool beyond = plan_.bounds == Bounds::between && bson::compare(plan_.to, until) < 0;
    until_ = Value(beyond ? static_cast<ValueView>(plan_.to) : until);
    with_it_ = with_it;
    if (is_missing(partition)) filled_ = &partition;
  }

  bool is_missing(const Partition& partition) const {
    const int order = bson::compare(partition.next, until_);
    return order < 0 || (order == 0 && with_it_);
  }

  bool make_one() {
    if (!is_missing(*filled_)) {
      // The waiting document may lie on the grid itself.
      if (waits_ && bson::compare(filled_->next, bson::value_at(read_, plan_.field)) == 0)
        filled_->next = plan_.after(filled_->next);
      return false;
    }
    frame_.work_on(filled_->fields.size());
    if (++made_ > made_max)
      refuse(5897900, "Generated " + std::to_string(made_) + " documents in $densify, which is over the limit of " +
                          std::to_string(made_max) + ".");
    out_ = with_field_at(filled_->fields, plan_.field, filled_->next);
    filled_->next = plan_.after(filled_->next);
    return true;
  }

  void end_source() {
    ended_ = true;
    // Between bounds, values are made even if there is no document.
    if (plan_.bounds == Bounds::between && !plan_.partition_by && partitions_.empty()) partitions_.push_back({{}, plan_.from});
  }

  // Finds the next partition that ends before the bounds do.
  bool fill_next_end() {
    if (plan_.bounds == Bounds::partition) return false;
    while (ends_at_ < partitions_.size()) {
      Partition& partition = partitions_[ends_at_++];
      if (plan_.bounds == Bounds::between)
        fill(partition, plan_.to, false);
      else
        fill(partition, last_, true);
      if (filled_) return true;
    }
    return false;
  }

  const Plan& plan_;
  Frame frame_;
  std::deque<Partition> partitions_;
  std::unordered_map<bson::Bytes, size_t> places_;
  Held held_;           // the partitions
  Value first_, last_;  // of all values
  bson::Document read_;
  bool waits_ = false;  // the document waits until those before it are made
  bool ended_ = false;
  size_t ends_at_ = 0;  // the next partition whose end is filled
  Partition* filled_ = nullptr;
  Value until_;
  bool with_it_ = false;
  int64_t made_ = 0;
  bson::Document out_;
};

void parse_range(const Arguments& range, Plan& plan) {
  range.only({"step", "bounds", "unit"});
  const Element step = range.any("step"), bounds = range.any("bounds");
  if (!range.number("step")) refuse(40414, "BSON field '$densify.range.step' is missing but a required field");
  if (!bounds.exists()) refuse(40414, "BSON field '$densify.range.bounds' is missing but a required field");
  if (bson::number::is_nan(step) || bson::number::is_zero(step) || bson::number::is_negative(step)) {
    refuse(5733401, "The step parameter in a range statement must be a strictly positive numeric value");
  }
  plan.step = Value(step);
  if (const auto unit = range.string("unit")) {
    if (!bson::number::exact_int64(step))
      refuse(6586400, "The step parameter in a range statement must be a whole number when densifying a date range");
    plan.unit = date_unit(*unit);
  }
  if (bounds.is_string()) {
    if (bounds.as_string() != "full" && bounds.as_string() != "partition")
      refuse(5946802, "Bounds string must either be 'full' or 'partition'");
    plan.bounds = bounds.as_string() == "full" ? Bounds::full : Bounds::partition;
    return;
  }
  if (!bounds.is_array()) {
    refuse(5733404,
           "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two "
           "dates");
  }
  const std::vector<ValueView> both(bounds.as_document().begin(), bounds.as_document().end());
  if (both.size() != 2) refuse(5733403, "A bounding array in a range statement must have exactly two elements");
  if (bson::compare(both[0], both[1]) > 0)
    refuse(5733402, "A bounding array must be an ascending array of either two dates or two numbers");
  if (both[0].is_number()) {
    if (plan.unit) refuse(5733409, "Numeric bounds may not have unit parameter");
    if (!both[1].is_number()) refuse(5733406, "A bounding array must contain either both dates or both numeric types");
    if (both[0].type() != both[1].type() || both[0].type() != step.type())
      refuse(5876900, "Upper bound, lower bound, and step must all have the same type");
  } else if (both[0].type() == bson::Type::date) {
    if (both[1].type() != bson::Type::date)
      refuse(5733405, "A bounding array must contain either both dates or both numeric types");
    if (!plan.unit) refuse(5733410, "A bounding array of dates must specify a unit");
  } else {
    refuse(5946800, "Explicit bounds must be numeric or dates");
  }
  plan.bounds = Bounds::between;
  plan.from = Value(both[0]);
  plan.to = Value(both[1]);
}

}  // namespace

StageSpecPtr parse_densify(const Element& specification, PipelineContext& context) {
  if (!specification.is_object())
    refuse(ErrorCode::failed_to_parse, "The $densify stage specification must be an object, found " + type_of(specification));
  const Arguments arguments("$densify", specification.as_document());
  arguments.only({"field", "partitionByFields", "range"});
  Plan plan;
  plan.field = arguments.required_string("field");
  parse_range(Arguments("$densify.range", arguments.required_object("range")), plan);
  check_field_path(plan.field);

  const std::vector<std::string> partitions = paths_in(arguments, "partitionByFields");
  for (const std::string& path : partitions) {
    if (path == plan.field || path.starts_with(plan.field + ".")) {
      refuse(8993000, "partitionByFields '" + path + "' cannot include field '" + plan.field + "' that is being densified.");
    }
  }
  if (plan.bounds == Bounds::partition && partitions.empty()) {
    refuse(5733408,
           "One cannot specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You may have "
           "meant to specify 'full' bounds.");
  }
  if (!partitions.empty()) plan.partition_by = parse_expression(Value(own_fields(partitions).view()), context.scope);

  bson::Builder sort;
  // With full bounds all partitions are read together.
  if (plan.bounds != Bounds::full) {
    for (const std::string& path : partitions) sort.append(path, 1);
  }
  sort.append(plan.field, 1);
  std::vector<StageSpecPtr> stages;
  stages.push_back(parse_stage(Value(wrap("$sort", Value(sort.done())).view()), context));
  stages.push_back(make_spec(specification, [plan = std::move(plan)](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<Densify>(std::move(source), plan, running);
  }));
  return expand(specification, std::move(stages));
}

}  // namespace server::query
