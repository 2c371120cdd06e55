#include "versions/branch/field_merge.h"

#include "bson/builder.h"

namespace versions {

namespace {

bool same(const bson::Element& a, const bson::Element& b) { return a.exists() == b.exists() && (!a.exists() || a.identical(b)); }

Resolution preferred(Prefer prefer) {
  switch (prefer) {
    case Prefer::ours: return {Resolution::Kind::ours, {}};
    case Prefer::theirs: return {Resolution::Kind::theirs, {}};
    case Prefer::neither: break;
  }
  return {Resolution::Kind::conflict, {}};
}

// One field; false: a conflict.
bool append_merged(bson::Builder& out, std::string_view name, const bson::Element& base, const bson::Element& ours, const bson::Element& theirs,
                   Prefer prefer) {
  const auto take = [&](const bson::Element& from) {
    if (from.exists()) out.append(name, static_cast<const bson::ValueView&>(from));
    return true;
  };
  if (same(ours, theirs) || same(base, theirs)) return take(ours);
  if (same(base, ours)) return take(theirs);
  if (ours.exists() && theirs.exists() && ours.is_object() && theirs.is_object()) {
    const bson::DocumentView before = base.exists() && base.is_object() ? base.as_document() : bson::DocumentView();
    const auto merged = merge_fields(before, ours.as_document(), theirs.as_document(), prefer);
    if (!merged) return false;
    out.append(name, merged->view());
    return true;
  }
  if (prefer == Prefer::neither) return false;
  return take(prefer == Prefer::ours ? ours : theirs);
}

}  // namespace

Resolver whole_documents(Prefer prefer) {
  return [prefer](const Sides&) { return preferred(prefer); };
}

Resolver fields(Prefer prefer) {
  return [prefer](const Sides& sides) -> Resolution {
    // A side may have another record and the same document.
    if (sides.ours == sides.base) return {Resolution::Kind::theirs, {}};
    if (sides.theirs == sides.base) return {Resolution::Kind::ours, {}};
    if (!sides.ours || !sides.theirs) return preferred(prefer);
    const bson::DocumentView base = sides.base ? bson::DocumentView(*sides.base) : bson::DocumentView();
    auto merged = merge_fields(base, bson::DocumentView(*sides.ours), bson::DocumentView(*sides.theirs), prefer);
    if (!merged) return {Resolution::Kind::conflict, {}};
    return {Resolution::Kind::written, std::move(*merged).bytes()};
  };
}

std::optional<bson::Document> merge_fields(bson::DocumentView base, bson::DocumentView ours, bson::DocumentView theirs, Prefer prefer) {
  bson::Builder out;
  for (const bson::Element& field : ours) {
    if (!append_merged(out, field.name, base.find(field.name), field, theirs.find(field.name), prefer)) return std::nullopt;
  }
  for (const bson::Element& field : theirs) {
    if (ours.has(field.name)) continue;
    if (!append_merged(out, field.name, base.find(field.name), {}, field, prefer)) return std::nullopt;
  }
  return out.done();
}

}  // namespace versions
