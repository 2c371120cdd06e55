#include "server/query/stages/unpack_bucket.h"

#include <algorithm>
#include <optional>

#include "server/core/operation.h"
#include "server/query/series/bucket.h"
#include "server/query/series/bucket_filter.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

struct Options {
  SeriesOptions series;
  std::vector<std::string> fields;  // to leave out, or to return
  bool includes = false;
};

class Unpack final : public Stage {
 public:
  Unpack(StagePtr from, const Options& options, PipelineContext& context)
      : Stage(std::move(from)), options_(options), context_(context), held_(context.allowance.memory()) {}

  bool next() override {
    for (;;) {
      if (reader_ && reader_->next()) {
        context_.allowance.work_on(1);
        make();
        return true;
      }
      reader_.reset();
      if (!source().next()) return false;
      // The bucket is needed after the source's transaction has ended.
      bucket_ = bson::Document(source().document());
      reader_.emplace(options_.series.time_field, options_.series.meta_field, bucket_);
      held_.set(bucket_.size() + reader_->held_bytes());
    }
  }
  DocumentView document() override { return out_; }

 private:
  void make() {
    bson::Builder out;
    reader_->append(out);
    out_ = out.done();
    if (options_.fields.empty() && !options_.includes) return;
    bson::Builder kept;
    for (const Element& field : out_) {
      const bool listed = std::find(options_.fields.begin(), options_.fields.end(), field.name) != options_.fields.end();
      if (listed == options_.includes) kept.append_element(field);
    }
    out_ = kept.done();
  }

  const Options& options_;
  PipelineContext& context_;
  Held held_;  // bucket_
  bson::Document bucket_;
  std::optional<BucketReader> reader_;
  bson::Document out_;
};

class UnpackSpec final : public PlainSpec, public Unpacking {
 public:
  UnpackSpec(const Element& specification, Options options)
      : PlainSpec(specification.name, specification), options_(std::move(options)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<Unpack>(std::move(source), options_, context);
  }
  bson::Document input_filter(DocumentView filter) const override {
    // A field that is left out is missing, whatever the buckets say.
    if (!options_.fields.empty() || options_.includes) return {};
    return bucket_filter(options_.series, filter);
  }

 private:
  Options options_;
};

std::string field_name(const Element& given, int code) {
  if (!given.is_string() || given.as_string().empty())
    refuse(code, std::string(given.name) + " field must be a string, got: " + type_of(given));
  if (given.as_string().find('.') != std::string_view::npos)
    refuse(code, std::string(given.name) + " field must not contain '.'");
  return std::string(given.as_string());
}

void read_fields(const Element& given, Options& options) {
  if (!given.is_array()) refuse(5346501, "include or exclude field must be an array, got: " + type_of(given));
  for (const Element& field : given.as_document()) {
    if (!field.is_string()) refuse(5346502, "include or exclude field element must be a string, got: " + type_of(field));
    if (field.as_string().find('.') != std::string_view::npos)
      refuse(5346503, "include or exclude field element must be a single-element field path");
    options.fields.emplace_back(field.as_string());
  }
}

int64_t positive(const Element& given) {
  const int64_t seconds = given.is_number() ? given.to_int64() : 0;
  if (seconds > 0 && seconds <= INT32_MAX) return seconds;
  refuse(5346510, std::string(given.name) + " field must be a positive integer, got: " + type_of(given));
}

}  // namespace

StageSpecPtr parse_unpack_bucket(const Element& specification, PipelineContext&) {
  if (!specification.is_object())
    refuse(5346500, "$_internalUnpackBucket specification must be an object, got: " + type_of(specification));
  Options options;
  bool listed = false;
  for (const Element& field : specification.as_document()) {
    if (field.name == "include" || field.name == "exclude") {
      if (listed) refuse(5408000, "The $_internalUnpackBucket stage expects one of include and exclude");
      listed = true;
      options.includes = field.name == "include";
      read_fields(field, options);
    } else if (field.name == "timeField") {
      options.series.time_field = field_name(field, 5346504);
    } else if (field.name == "metaField") {
      options.series.meta_field = field_name(field, 5346505);
    } else if (field.name == "bucketMaxSpanSeconds") {
      options.series.span_s = positive(field);
    } else {
      refuse(5346506, "unrecognized parameter to unpack stage: " + std::string(field.name));
    }
  }
  if (options.series.time_field.empty()) refuse(5346508, "The $_internalUnpackBucket stage requires a timeField parameter");
  if (options.series.span_s == 0) refuse(5346509, "The $_internalUnpackBucket stage requires a bucketMaxSpanSeconds parameter");
  return std::make_unique<UnpackSpec>(specification, std::move(options));
}

}  // namespace server::query
