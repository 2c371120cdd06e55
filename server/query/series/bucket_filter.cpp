#include "server/query/series/bucket_filter.h"

#include <algorithm>
#include <limits>

#include "bson/builder.h"
#include "server/query/series/bucket.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Type;
using bson::ValueView;

namespace {

int64_t shifted(int64_t ms, int64_t by) {
  int64_t result = 0;
  if (!__builtin_add_overflow(ms, by, &result)) return result;
  return by < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

class Translation {
 public:
  explicit Translation(const SeriesOptions& options)
      : options_(options), min_("control.min." + options.time_field), max_("control.max." + options.time_field) {}

  void add(DocumentView filter) {
    for (const Element& field : filter) {
      if (field.name == "$and") {
        each_branch(field, [&](DocumentView branch) { add(branch); });
      } else if (field.name == "$or") {
        add_disjunction(field);
      } else if (field.name == options_.time_field) {
        add_time(field);
      } else if (const auto path = meta_path(options_, field.name)) {
        condition(*path, field);
      }
    }
  }

  bson::Document done() {
    if (conditions_.empty()) return {};
    if (conditions_.size() == 1) return conditions_.front();
    bson::Builder out;
    {
      bson::ArrayBuilder all = out.array("$and");
      for (const bson::Document& one : conditions_) all.append(one);
    }
    return out.done();
  }

 private:
  template <class Visit>
  static void each_branch(const ValueView& branches, const Visit& visit) {
    if (!branches.is_array()) return;
    for (const Element& branch : branches.as_document()) {
      if (branch.is_object()) visit(branch.as_document());
    }
  }

  void condition(std::string_view path, const ValueView& value) {
    bson::Builder one;
    one.append(path, value);
    conditions_.push_back(one.done());
  }
  template <class Value>
  void condition(std::string_view path, const char* op, const Value& value) {
    bson::Builder one;
    one.object(path).append(op, value);
    conditions_.push_back(one.done());
  }

  void add_disjunction(const ValueView& branches) {
    bson::Builder either;
    {
      bson::ArrayBuilder all = either.array("$or");
      bool any_bucket = false;
      each_branch(branches, [&](DocumentView branch) {
        Translation inner(options_);
        inner.add(branch);
        const bson::Document filter = inner.done();
        any_bucket |= filter.empty();
        all.append(filter);
      });
      if (any_bucket || all.count() == 0) return;
    }
    conditions_.push_back(either.done());
  }

  void add_time(const ValueView& value) {
    if (value.type() == Type::date) return between(value.as_date().ms, value.as_date().ms);
    if (!value.is_object()) return;
    for (const Element& op : value.as_document()) {
      const int64_t at = op.type() == Type::date ? op.as_date().ms : 0;
      if (op.type() == Type::date && op.name == "$eq") between(at, at);
      if (op.type() == Type::date && (op.name == "$gt" || op.name == "$gte")) from(at, op.name == "$gte");
      if (op.type() == Type::date && (op.name == "$lt" || op.name == "$lte")) until(at, op.name == "$lte");
      if (op.name == "$in" && op.is_array()) one_of(op.as_document());
    }
  }

  void one_of(DocumentView times) {
    int64_t least = std::numeric_limits<int64_t>::max(), greatest = std::numeric_limits<int64_t>::min();
    for (const Element& time : times) {
      if (time.type() != Type::date) return;  // a regular expression or null may match by other rules
      least = std::min(least, time.as_date().ms);
      greatest = std::max(greatest, time.as_date().ms);
    }
    if (least <= greatest) between(least, greatest);
  }

  void between(int64_t least, int64_t greatest) {
    from(least, true);
    until(greatest, true);
  }

  // A bucket with a measurement from then on began less than a span before it.
  void from(int64_t ms, bool inclusive) {
    const int64_t begun_after = shifted(ms, -options_.span_ms());
    condition(max_, inclusive ? "$gte" : "$gt", bson::Date{ms});
    condition(min_, "$gt", bson::Date{begun_after});
    condition("_id", "$gte", bucket_id_bound(begun_after, false));
  }

  // A bucket with a measurement until then began by then, and ends less than a span after it.
  void until(int64_t ms, bool inclusive) {
    condition(min_, inclusive ? "$lte" : "$lt", bson::Date{ms});
    condition(max_, "$lt", bson::Date{shifted(ms, options_.span_ms())});
    condition("_id", "$lte", bucket_id_bound(ms, true));
  }

  const SeriesOptions& options_;
  const std::string min_, max_;
  std::vector<bson::Document> conditions_;
};

// Appends a filter's fields under their names in buckets. Returns false if it asks for something else than the meta.
bool append_meta(const SeriesOptions& options, DocumentView filter, bson::Builder& out) {
  for (const Element& field : filter) {
    if ((field.name == "$and" || field.name == "$or" || field.name == "$nor") && field.is_array()) {
      bson::ArrayBuilder branches = out.array(field.name);
      for (const Element& branch : field.as_document()) {
        if (!branch.is_object()) return false;
        bson::Builder one = branches.object();
        if (!append_meta(options, branch.as_document(), one)) return false;
      }
    } else if (field.name == "$comment") {
      out.append_element(field);
    } else if (const auto path = meta_path(options, field.name)) {
      out.append(*path, static_cast<const ValueView&>(field));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

bson::Document bucket_filter(const SeriesOptions& options, DocumentView filter) {
  Translation translation(options);
  translation.add(filter);
  return translation.done();
}

std::optional<bson::Document> meta_filter(const SeriesOptions& options, DocumentView filter) {
  bson::Builder out;
  if (!append_meta(options, filter, out)) return std::nullopt;
  return out.done();
}

std::optional<std::string> meta_path(const SeriesOptions& options, std::string_view path) {
  if (options.meta_field.empty() || !path.starts_with(options.meta_field)) return std::nullopt;
  const std::string_view rest = path.substr(options.meta_field.size());
  if (!rest.empty() && rest.front() != '.') return std::nullopt;
  return "meta" + std::string(rest);
}

}  // namespace server::query
