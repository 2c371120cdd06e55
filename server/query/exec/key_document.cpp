#include "server/query/exec/key_document.h"

#include "bson/key_types.h"
#include "bson/path.h"

namespace server::query::exec {

namespace {

// A field on its way into the document: the rest of its path, and its value, which may be missing.
struct Field {
  std::vector<std::string_view> path;
  bson::ValueView value;
};

// Fields with the same first name are one object, at the place of the first of them.
void append_fields(const std::vector<Field>& fields, size_t depth, bson::Builder& out) {
  std::vector<bool> done(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    if (done[i]) continue;
    const auto& path = fields[i].path;
    if (path.size() == depth + 1 && fields[i].value.exists()) {
      out.append(path[depth], fields[i].value);
      continue;
    }
    std::vector<Field> inner;
    for (size_t j = i; j < fields.size(); ++j) {
      if (done[j] || fields[j].path[depth] != path[depth]) continue;
      done[j] = true;
      if (fields[j].path.size() > depth + 1) inner.push_back(fields[j]);
    }
    auto object = out.object(path[depth]);
    append_fields(inner, depth + 1, object);
  }
}

}  // namespace

std::optional<bson::Document> read_values(const storage::IndexSpec& spec, bson::BytesView key, bson::BytesView types,
                                          const std::vector<bool>& wanted) {
  bson::KeyReader reader(key, types);
  bson::Builder flat;
  std::vector<std::optional<size_t>> missing(spec.fields.size());
  size_t last = spec.fields.size();
  while (last > 0 && !wanted[last - 1]) --last;
  bool dotted = false;
  for (size_t i = 0; i < last; ++i) {
    const storage::IndexField& field = spec.fields[i];
    bson::Builder unwanted;
    missing[i] = reader.next(field.descending, field.path, wanted[i] ? flat : unwanted);
    dotted = dotted || (wanted[i] && field.path.find('.') != std::string::npos);
  }
  if (!reader.ok()) return std::nullopt;
  bson::Document values = flat.done();
  if (!dotted) return values;
  std::vector<Field> fields;
  auto value = values.view().begin();
  for (size_t i = 0; i < last; ++i) {
    if (!wanted[i]) continue;
    auto path = bson::split_path(spec.fields[i].path);
    if (missing[i]) {
      path.resize(*missing[i]);
      if (!path.empty()) fields.push_back({std::move(path), {}});
    } else {
      fields.push_back({std::move(path), *value});
      ++value;
    }
  }
  bson::Builder out;
  append_fields(fields, 0, out);
  return out.done();
}

}  // namespace server::query::exec
