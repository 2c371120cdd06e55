// $count, $sortByCount and $bucket are shorthands, written as the stages that they
// stand for.
#include "bson/compare.h"
#include "server/core/text.h"
#include "server/query/expressions/constant_value.h"
#include "server/query/stages/expanded.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::Element;
using bson::Value;

namespace {

class Count final : public Stage {
 public:
  Count(StagePtr from, std::string name) : Stage(std::move(from)), name_(std::move(name)) {}
  bool next() override {
    if (done_) return false;
    done_ = true;
    int64_t count = 0;
    while (source().next()) ++count;
    bson::Builder out;
    count <= INT32_MAX ? out.append(name_, static_cast<int32_t>(count)) : out.append(name_, count);
    out_ = out.done();
    return count > 0;
  }
  bson::DocumentView document() override { return out_; }

 private:
  std::string name_;
  bool done_ = false;
  bson::Document out_;
};

class CountSpec final : public PlainSpec {
 public:
  explicit CountSpec(const Element& specification) : PlainSpec("$count", specification), field_(specification.as_string()) {}
  StagePtr start(StagePtr source, PipelineContext&) const override { return std::make_unique<Count>(std::move(source), field_); }
  bool needs_documents() const override { return false; }

 private:
  std::string field_;
};

bson::Document sum_of_ones() {
  bson::Builder out;
  out.append("$sum", 1);
  return out.done();
}

}  // namespace

StageSpecPtr parse_count(const Element& specification, PipelineContext&) {
  if (!specification.is_string()) refuse(40156, "the count field must be a non-empty string");
  const std::string_view field = specification.as_string();
  if (field.empty()) refuse(40157, "the count field must be a non-empty string");
  if (field[0] == '$') refuse(40158, "the count field cannot be a $-prefixed path");
  if (field.find('.') != std::string_view::npos) refuse(40160, "the count field cannot contain '.'");
  if (field.find('\0') != std::string_view::npos) refuse(40159, "the count field cannot contain a null byte");
  return std::make_unique<CountSpec>(specification);
}

StageSpecPtr parse_sort_by_count(const Element& specification, PipelineContext& context) {
  const bool expression = specification.is_object() && specification.as_document().first().name.substr(0, 1) == "$";
  const bool path = specification.is_string() && specification.as_string().substr(0, 1) == "$";
  if (specification.is_object() && !expression)
    refuse(40147, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object");
  if (!specification.is_object() && !specification.is_string())
    refuse(40149, "the sortByCount field must be specified as a string or as an object");
  if (!expression && !path)
    refuse(40148, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object");
  bson::Builder group, sort;
  group.append("_id", static_cast<const bson::ValueView&>(specification)).append("count", sum_of_ones());
  sort.append("count", -1);
  return expand(specification, {wrap("$group", Value(group.done())), wrap("$sort", Value(sort.done()))}, context);
}

StageSpecPtr parse_bucket(const Element& specification, PipelineContext& context) {
  if (!specification.is_object())
    refuse(40201, "Argument to $bucket stage must be an object, but found type: " + type_of(specification) + ".");
  Element group_by, boundaries, output;
  Value fallback;
  for (const Element& field : specification.as_document()) {
    if (field.name == "groupBy") {
      group_by = field;
      const bool path = field.is_string() && field.as_string().substr(0, 1) == "$";
      if (!path && !field.is_object())
        refuse(40202, "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: " +
                          type_of(field) + ".");
    } else if (field.name == "boundaries") {
      boundaries = field;
      if (!field.is_array())
        refuse(40200, "The $bucket 'boundaries' field must be an array, but found type: " + type_of(field) + ".");
    } else if (field.name == "default") {
      const auto constant = constant_value(field, context.scope);
      if (!constant) {
        refuse(40195, "The $bucket 'default' field must be a constant, but found: " + show(field) + ".");
      }
      fallback = *constant;
    } else if (field.name == "output") {
      output = field;
      if (!field.is_object())
        refuse(40196, "The $bucket 'output' field must be an object, but found type: " + type_of(field) + ".");
    } else {
      refuse(40197, "Unrecognized option to $bucket: " + std::string(field.name) + ".");
    }
  }
  if (!group_by.exists() || !boundaries.exists()) refuse(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
  const bson::Collator* const collator = context.scope.collator().get();
  std::vector<Value> edges;
  for (const Element& boundary : boundaries.as_document()) {
    const auto constant = constant_value(boundary, context.scope);
    if (!constant) {
      refuse(40191,
             "The $bucket 'boundaries' field must be an array of constant values, but found value: " + show(boundary) + ".");
    }
    const bson::ValueView edge = constant->view();
    if (!edges.empty()) {
      if (bson::canonical_rank(edges.back().type()) != bson::canonical_rank(edge.type())) {
        refuse(40193, "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types " +
                          type_of(edges.back()) + " and " + type_of(edge) + ".");
      }
      if (bson::compare(edges.back().view(), edge, collator) >= 0)
        refuse(40194, "The 'boundaries' option to $bucket must be sorted, but elements are not in ascending order.");
    }
    edges.push_back(*constant);
  }
  if (edges.size() < 2)
    refuse(40192, "The $bucket 'boundaries' field must have at least 2 values, but found " + std::to_string(edges.size()) +
                      " value(s).");
  if (fallback.exists() && bson::canonical_rank(fallback.type()) == bson::canonical_rank(edges[0].type()) &&
      bson::compare(fallback, edges.front(), collator) >= 0 && bson::compare(fallback, edges.back(), collator) < 0) {
    refuse(40199,
           "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.");
  }

  // _id: {$switch: {branches: [{case: {$and: [{$gte: [x, lower]}, {$lt: [x, upper]}]}, then: lower}, …], default}}
  bson::Builder group;
  {
    bson::Builder id = group.object("_id");
    bson::Builder choice = id.object("$switch");
    {
      bson::ArrayBuilder branches = choice.array("branches");
      for (size_t i = 0; i + 1 < edges.size(); ++i) {
        bson::Builder branch = branches.object();
        {
          bson::Builder test = branch.object("case");
          bson::ArrayBuilder both = test.array("$and");
          for (const bool lower : {true, false}) {
            bson::Builder bound = both.object();
            bson::ArrayBuilder sides = bound.array(lower ? "$gte" : "$lt");
            sides.append(static_cast<const bson::ValueView&>(group_by));
            sides.append(wrap("$literal", edges[lower ? i : i + 1]).view());
          }
        }
        branch.append("then", wrap("$literal", edges[i]));
      }
    }
    if (fallback.exists()) choice.append("default", wrap("$literal", fallback));
  }
  if (output.exists()) {
    group.append_all(output.as_document());
  } else {
    group.append("count", sum_of_ones());
  }
  bson::Builder sort;
  sort.append("_id", 1);
  return expand(specification, {wrap("$group", Value(group.done())), wrap("$sort", Value(sort.done()))}, context);
}

}  // namespace server::query
