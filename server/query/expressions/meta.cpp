// {$meta: "textScore"} and its like read what a query knows of a document beside its fields (document_metadata.h).
#include "server/query/document_metadata.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

class Meta final : public Expression {
 public:
  Meta(MetaField field, std::shared_ptr<const MetadataPlace> place) : field_(field), place_(std::move(place)) {}

 protected:
  Value compute(Frame&) const override {
    if (!place_) return {};
    const DocumentMetadata& metadata = place_->current;
    switch (field_) {
      case MetaField::text_score: return Value(metadata.text_score);
      case MetaField::near_distance: return Value(metadata.near_distance);
      case MetaField::near_point: return metadata.near_point;
      case MetaField::record_id: return metadata.record_id;
      case MetaField::index_key: return metadata.index_key;
      case MetaField::sort_key: return metadata.sort_key;
    }
    return {};
  }

 private:
  const MetaField field_;
  const std::shared_ptr<const MetadataPlace> place_;  // nullptr: there are no metadata here
};

ExpressionPtr parse_meta(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_string()) fail(17307, "$meta only supports string arguments");
  const auto field = meta_field(value.as_string());
  if (!field) fail(17308, "Unsupported argument to $meta: " + std::string(value.as_string()));
  check_offered(*field, scope.metadata().get());
  if (scope.metadata()) scope.metadata()->want(*field);
  return std::make_unique<Meta>(*field, scope.metadata());
}

constexpr OperatorEntry table[] = {{"$meta", parse_meta}};

}  // namespace

std::span<const OperatorEntry> meta_operators() {
  return table;
}

}  // namespace server::query
