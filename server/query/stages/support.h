// Most stages are written with these helpers.
#pragma once

#include <functional>
#include <utility>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/query/field_path.h"
#include "server/query/stages/stage.h"

namespace server::query {

[[noreturn]] inline void refuse(int code, const std::string& message) {
  throw base::OperationError(code, message);
}
[[noreturn]] inline void refuse(base::ErrorCode code, const std::string& message) {
  throw base::OperationError(code, message);
}
inline std::string type_of(const bson::ValueView& value) {
  return std::string(bson::type_name(value.type()));
}

// Returns the fields of a stage whose argument is an object.
inline Arguments arguments_of(const bson::Element& specification) {
  if (!specification.is_object()) {
    refuse(base::ErrorCode::failed_to_parse, "the " + std::string(specification.name) +
                                                 " stage specification must be an object, but found " + type_of(specification));
  }
  return {std::string(specification.name), specification.as_document()};
}

// Returns `name`, an array of fields' paths; empty if it is missing.
inline std::vector<std::string> paths_in(const Arguments& arguments, std::string_view name) {
  std::vector<std::string> paths;
  for (const bson::Element& path : arguments.array(name).value_or(bson::DocumentView())) {
    if (!path.is_string()) {
      refuse(base::ErrorCode::type_mismatch, "BSON field '" + arguments.dotted(name) + "." + std::string(path.name) +
                                                 "' is the wrong type '" + type_of(path) + "', expected type 'string'");
    }
    check_field_path(path.as_string());
    paths.emplace_back(path.as_string());
  }
  return paths;
}

// A stage that turns each document into one, or none.
class MapStage : public Stage {
 public:
  using Stage::Stage;
  bool next() override {
    while (source().next()) {
      if (take(source().document())) return true;
    }
    return false;
  }
  bson::DocumentView document() override { return out_; }

 protected:
  // Sets out_; returns false if the document is dropped.
  virtual bool take(bson::DocumentView document) = 0;
  bson::Document out_;
};

// A stage with its name and the document that explain shows.
class PlainSpec : public StageSpec {
 public:
  PlainSpec(std::string_view name, const bson::ValueView& shown) : name_(name) {
    bson::Builder out;
    out.append(name, shown);
    explain_ = out.done();
  }
  std::string_view name() const override { return name_; }
  bson::Document explain() const override { return explain_; }

 private:
  std::string name_;
  bson::Document explain_;
};

// The same for a stage that makes its own documents.
class SourceSpec : public PlainSpec {
 public:
  using PlainSpec::PlainSpec;
  bool is_source() const override { return true; }
  bool in_facet() const override { return false; }
};

// A spec whose running stage a function makes.
template <class Start>
class StartSpec final : public PlainSpec {
 public:
  StartSpec(std::string_view name, const bson::ValueView& shown, Start start)
      : PlainSpec(name, shown), start_(std::move(start)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override { return start_(std::move(source), context); }

 private:
  Start start_;
};
template <class Start>
StageSpecPtr make_spec(const bson::Element& specification, Start start) {
  return std::make_unique<StartSpec<Start>>(specification.name, specification, std::move(start));
}

// Returns documents that were all made at once.
class ListStage : public Stage {
 public:
  explicit ListStage(std::vector<bson::Document> documents) : Stage(nullptr), documents_(std::move(documents)) {}
  bool next() override { return ++at_ <= documents_.size(); }
  bson::DocumentView document() override { return documents_[at_ - 1]; }

 private:
  std::vector<bson::Document> documents_;
  size_t at_ = 0;
};

}  // namespace server::query
