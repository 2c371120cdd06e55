// $text is answered by the text index alone: it has the terms' entries.
#pragma once

#include "server/query/plan/access.h"

namespace server::query::plan {

// Returns the $text among the predicates; nullptr: there is none.
const match::Text* text_among(const Predicates& predicates);

// Returns the scans of the terms. Throws NoQueryExecutionPlans if the index is hidden or partial, or has fields before the terms,
// and the other predicates don't fit it.
Access text_access(const storage::Collection& collection, const match::Text& text, const Predicates& predicates,
                   Allowance& allowance);

[[noreturn]] void refuse_text_plan(const storage::Collection& collection);

}  // namespace server::query::plan
