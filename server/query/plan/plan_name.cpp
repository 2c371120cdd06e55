#include "server/query/plan/plan_name.h"

#include "server/query/query_shape.h"

namespace server::query::plan {

namespace {

void add(const Access& access, std::string& name) {
  name += static_cast<char>('0' + static_cast<int>(access.kind));
  if (access.index) {
    // The fields of a wildcard index's plan have the path that it is scanned for.
    for (const storage::IndexField& field : access.index->spec().fields) name.append(field.path).append(1, '\0');
    name += access.index->spec().name;
    name += access.direction == storage::Direction::forward ? '+' : '-';
  }
  if (access.sorted) name += 's';
  // The parts of one index's bounds depend on the values.
  if (access.kind != Access::Kind::any_of && access.kind != Access::Kind::all_of) return;
  name += '(';
  for (const Access& branch : access.branches) {
    add(branch, name);
    name += ',';
  }
  name += ')';
}

}  // namespace

std::string plan_name(const Access& access) {
  std::string name;
  add(access, name);
  return name;
}

std::string index_fingerprint(const storage::Collection& collection) {
  std::string text;
  for (const auto& index : collection.indexes()) {
    if (!index->ready() || index->spec().hidden) continue;
    text.append(index->spec().name).append(1, '\0').append(index->spec().document.bytes());
    for (size_t i = 0; i < index->spec().fields.size(); ++i) text += index->multikey_field(i) ? 'm' : '-';
  }
  return text;
}

std::string plan_key(std::string shape, const storage::Collection* collection) {
  if (collection) {
    for (const auto& index : collection->indexes()) shape += index->spec().name;
  }
  return shape_digest(shape);
}

}  // namespace server::query::plan
