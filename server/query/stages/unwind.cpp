// $unwind returns one document for each element of an array.
#include "server/core/operation.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::ValueView;

namespace {

struct Options {
  std::string path;
  std::string index_field;
  bool keep_empty = false;
};

bson::Document with_value(DocumentView document, std::string_view path, const ValueView& value) {
  const size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  bson::Builder out;
  bool placed = false;
  const auto place = [&](const ValueView& old) {
    placed = true;
    if (dot == std::string_view::npos) {
      out.append(name, value);
    } else {
      out.append(name, with_value(old.is_object() ? old.as_document() : DocumentView(), path.substr(dot + 1), value));
    }
  };
  for (const Element& field : document) {
    if (field.name == name) {
      place(field);
    } else {
      out.append_element(field);
    }
  }
  if (!placed && value.exists()) place(ValueView());
  return out.done();
}

// Goes through objects only: an array on the way ends it.
ValueView value_at(DocumentView document, std::string_view path) {
  for (;;) {
    const size_t dot = path.find('.');
    const ValueView value = document.find(path.substr(0, dot));
    if (dot == std::string_view::npos) return value;
    if (!value.is_object()) return {};
    document = value.as_document();
    path = path.substr(dot + 1);
  }
}

class Unwind final : public Stage {
 public:
  Unwind(StagePtr from, const Options& options, PipelineContext& context)
      : Stage(std::move(from)), options_(options), context_(context), held_(context.allowance.memory()) {}

  bool next() override {
    for (;;) {
      if (elements_ != DocumentView::Iterator()) {
        // Several $unwind stages in a row make many documents of one.
        context_.allowance.work_on(whole_.size());
        place(*elements_);
        number(bson::Value(index_++));
        ++elements_;
        return true;
      }
      if (!source().next()) return false;
      whole_ = bson::Document(source().document());
      const ValueView value = value_at(whole_, options_.path);
      if (value.is_array() && !value.as_document().empty()) {
        elements_ = value.as_document().begin();
        index_ = 0;
      } else {
        if ((value.is_array() || value.is_nullish()) && !options_.keep_empty) continue;
        // An empty array is removed. A document with any other value, or without one, stays as it is.
        if (value.is_array())
          place({});
        else
          out_ = whole_;
        number(bson::Value::null());
        return true;
      }
    }
  }
  DocumentView document() override { return out_; }

 private:
  void place(const ValueView& value) { out_ = with_value(whole_, options_.path, value); }
  void number(const bson::Value& index) {
    if (!options_.index_field.empty()) out_ = with_value(out_, options_.index_field, index);
    held_.set(whole_.size() + out_.size());
  }

  const Options& options_;
  PipelineContext& context_;
  Held held_;  // whole_ and out_
  bson::Document whole_;
  DocumentView::Iterator elements_;
  int64_t index_ = 0;
  bson::Document out_;
};

class UnwindSpec final : public PlainSpec, public Unwinding {
 public:
  UnwindSpec(const Element& specification, Options options) : PlainSpec("$unwind", specification), options_(std::move(options)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<Unwind>(std::move(source), options_, context);
  }
  std::string_view path() const override { return options_.path; }
  std::string_view index_field() const override { return options_.index_field; }
  bool keeps_empty() const override { return options_.keep_empty; }

 private:
  Options options_;
};

}  // namespace

StageSpecPtr parse_unwind(const Element& specification, PipelineContext&) {
  Options options;
  std::string_view path;
  if (specification.is_object()) {
    bool given = false;
    for (const Element& field : specification.as_document()) {
      if (field.name == "path") {
        if (!field.is_string()) refuse(28808, "expected a string as the path for $unwind stage, got " + type_of(field));
        path = field.as_string();
        given = true;
      } else if (field.name == "preserveNullAndEmptyArrays") {
        if (field.type() != bson::Type::boolean) {
          refuse(28809, "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got " + type_of(field));
        }
        options.keep_empty = field.as_bool();
      } else if (field.name == "includeArrayIndex") {
        if (!field.is_string() || field.as_string().empty()) {
          refuse(28810, "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got " + type_of(field));
        }
        if (field.as_string()[0] == '$') {
          refuse(28822, "includeArrayIndex option to $unwind stage should not be prefixed with a '$': " +
                            std::string(field.as_string()));
        }
        options.index_field = field.as_string();
        check_field_path(options.index_field);
      } else {
        refuse(28811, "unrecognized option to $unwind stage: " + std::string(field.name));
      }
    }
    if (!given) refuse(28812, "no path specified to $unwind stage");
  } else if (specification.is_string()) {
    path = specification.as_string();
  } else {
    refuse(15981, "expected either a string or an object as specification for $unwind stage, got " + type_of(specification));
  }
  if (path.empty()) refuse(28812, "no path specified to $unwind stage");
  if (path[0] != '$') refuse(28818, "path option to $unwind stage should be prefixed with a '$': " + std::string(path));
  options.path = path.substr(1);
  check_field_path(options.path);
  return std::make_unique<UnwindSpec>(specification, std::move(options));
}

}  // namespace server::query
