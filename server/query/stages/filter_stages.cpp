// This file has $match, $limit, $skip and $sample.
#include <algorithm>

#include "base/random.h"
#include "bson/arithmetic.h"
#include "server/core/text.h"
#include "server/query/matcher.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/sorting.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

class Match final : public Stage {
 public:
  Match(StagePtr from, const Matcher& matcher) : Stage(std::move(from)), matcher_(matcher) {}
  bool next() override {
    while (source().next()) {
      if (matcher_.matches(source().document())) return true;
    }
    return false;
  }
  DocumentView document() override { return source().document(); }

 private:
  const Matcher& matcher_;
};

class Limit final : public Stage {
 public:
  Limit(StagePtr from, int64_t limit) : Stage(std::move(from)), left_(limit) {}
  bool next() override { return left_ > 0 && left_-- > 0 && source().next(); }
  DocumentView document() override { return source().document(); }

 private:
  int64_t left_;
};

class Skip final : public Stage {
 public:
  Skip(StagePtr from, int64_t skip) : Stage(std::move(from)), left_(skip) {}
  bool next() override {
    for (; left_ > 0; --left_) {
      if (!source().next()) return false;
    }
    return source().next();
  }
  DocumentView document() override { return source().document(); }

 private:
  int64_t left_;
};

// Each document draws a number, and those with the smallest are the sample.
class Sample final : public Stage {
 public:
  Sample(StagePtr from, int64_t size, PipelineContext& context)
      : Stage(std::move(from)), sorter_(options(size, context), context.allowance) {}
  bool next() override {
    if (!std::exchange(drawn_, true)) draw();
    return sorter_.next(current_);
  }
  DocumentView document() override { return current_.document; }

 private:
  static exec::Sorter::Options options(int64_t size, const PipelineContext& context) {
    exec::Sorter::Options options = sorter_options(context);
    options.limit = size;
    return options;
  }

  void draw() {
    base::Random random(base::entropy64());
    while (source().next()) {
      const uint64_t drawn = random();
      sorter_.take(bson::Bytes(reinterpret_cast<const char*>(&drawn), sizeof drawn), 0, source().document());
    }
    sorter_.finish();
  }

  exec::Sorter sorter_;
  bool drawn_ = false;
  exec::SortEntry current_;
};

class MatchSpec final : public PlainSpec, public Filtering {
 public:
  MatchSpec(const Element& specification, std::unique_ptr<Matcher> matcher)
      : PlainSpec("$match", specification), matcher_(std::move(matcher)) {}
  StagePtr start(StagePtr source, PipelineContext&) const override {
    return std::make_unique<Match>(std::move(source), *matcher_);
  }
  DocumentView filter() const override { return matcher_->filter().view(); }

 private:
  std::unique_ptr<Matcher> matcher_;
};

class LimitSpec final : public PlainSpec, public Limiting {
 public:
  explicit LimitSpec(int64_t limit) : PlainSpec("$limit", bson::Value(limit)), limit_(limit) {}
  StagePtr start(StagePtr source, PipelineContext&) const override { return std::make_unique<Limit>(std::move(source), limit_); }
  int64_t limit() const override { return limit_; }

 private:
  int64_t limit_;
};

class SkipSpec final : public PlainSpec, public Skipping {
 public:
  explicit SkipSpec(int64_t skip) : PlainSpec("$skip", bson::Value(skip)), skip_(skip) {}
  StagePtr start(StagePtr source, PipelineContext&) const override { return std::make_unique<Skip>(std::move(source), skip_); }
  int64_t skip() const override { return skip_; }

 private:
  int64_t skip_;
};

}  // namespace

StageSpecPtr parse_match(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(15959, "the match filter must be an expression in an object");
  return std::make_unique<MatchSpec>(specification, Matcher::parse(specification.as_document(), match_context(context)));
}

namespace {

// Returns a whole number that isn't negative. Throws `code` in MongoDB's words.
int64_t count_of(const Element& specification, int code) {
  const auto invalid = [&](const std::string& why, const std::string& sign) {
    const std::string name(specification.name);
    refuse(code, "invalid argument to " + name + " stage: " + why + sign + show_element(specification));
  };
  if (!specification.is_number()) invalid("Expected a number", " in: ");
  if (bson::number::is_nan(specification)) invalid("Expected an integer, but found NaN", " in: ");
  const auto whole = bson::number::exact_int64(specification);
  if (!whole) {
    const bool fits = bson::number::exact_int64(bson::number::trunc(specification)).has_value();
    invalid(fits ? "Expected an integer" : "Cannot represent as a 64-bit integer", ": ");
  }
  if (*whole < 0) invalid("Expected a non-negative number", " in: ");
  return *whole;
}

}  // namespace

StageSpecPtr parse_limit(const Element& specification, PipelineContext&) {
  const int64_t limit = count_of(specification, 5107201);
  if (limit == 0) refuse(15958, "the limit must be positive");
  return std::make_unique<LimitSpec>(limit);
}

StageSpecPtr parse_skip(const Element& specification, PipelineContext&) {
  return std::make_unique<SkipSpec>(count_of(specification, 5107200));
}

StageSpecPtr parse_sample(const Element& specification, PipelineContext&) {
  if (!specification.is_object()) refuse(28745, "the $sample stage specification must be an object");
  int64_t size = -1;
  for (const Element& field : specification.as_document()) {
    if (field.name != "size") refuse(28748, "unrecognized option to $sample: " + std::string(field.name));
    if (!field.is_number()) refuse(28746, "size argument to $sample must be a number");
    size = field.to_int64();
    if (size <= 0) refuse(28747, "size argument to $sample must be a positive integer");
  }
  if (size < 0) refuse(28749, "$sample stage must specify a size");
  return make_spec(specification, [size](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<Sample>(std::move(source), size, running);
  });
}

}  // namespace server::query
