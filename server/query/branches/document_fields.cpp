#include "server/query/branches/document_fields.h"

namespace server::query {

DocumentFields::DocumentFields(base::Bytes document) : document_(std::make_unique<const base::Bytes>(std::move(document))) {
  if (document_->empty()) return;
  add(bson::DocumentView(*document_), "");
  for (size_t i = 0; i < fields_.size(); ++i) by_path_.emplace(fields_[i].path, i);
}

void DocumentFields::add(bson::DocumentView document, const std::string& before) {
  for (const bson::Element& element : document) {
    std::string path = before + std::string(element.name);
    if (element.is_object() && !element.as_document().empty())
      add(element.as_document(), path + ".");
    else
      fields_.push_back({std::move(path), element});
  }
}

bool DocumentFields::has(const std::string& path, const bson::Element& value) const {
  const auto found = by_path_.find(path);
  return found != by_path_.end() && fields_[found->second].value.identical(value);
}

}  // namespace server::query
