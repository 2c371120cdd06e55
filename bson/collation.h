// A collation is specified by a document: {locale: "fr", strength: 1, …}.
#pragma once

#include <optional>

#include "bson/collator.h"

namespace bson {

// A command has a collation, or its collection's applies.
//
//   nullopt   none was given: the field is missing, null or {}
//   nullptr   {locale: "simple"}: bytes are compared
using GivenCollation = std::optional<CollatorPtr>;

// Reads a command's `collation`. Throws what MongoDB reports for a bad one: 40414, 40415, TypeMismatch, BadValue,
// IncompatibleCollationVersion (161). Equal specifications give the same Collator, as long as it is remembered. Thread-safe.
GivenCollation parse_collation(const ValueView& specification);

// Does the same for a document that says something. nullptr: {locale: "simple"}.
CollatorPtr collator_of(DocumentView specification);

}  // namespace bson
