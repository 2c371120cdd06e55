// {$text: {$search: "coffee \"à la carte\" -syrup"}}
//
// Its words depend on the text index of the collection. The executor binds it to the index before it plans.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/query/match/node.h"
#include "text/search.h"

namespace storage {
class Collection;
class Index;
}  // namespace storage

namespace server::query::match {

class Text final : public Node {
 public:
  struct Question {
    std::string search;
    std::string language;  // empty: the index's
    text::Folding folding;
  };
  explicit Text(Question question) : Node(Kind::text), question_(std::move(question)) {}

  // Throws BadValue for a language that there isn't, and ExceededMemoryLimit for more terms than there is room for.
  void bind(std::shared_ptr<const storage::Index> index);
  const std::shared_ptr<const storage::Index>& index() const { return index_; }
  const text::Search& search() const { return search_; }

  // Checks what the index's terms don't: phrases, what must not occur, and the terms themselves if case or diacritics count. The
  // document has one of the terms in the index.
  bool fits(bson::DocumentView document) const;

  // Counts so many bytes that are kept for the search as long as the node lives. Throws ExceededMemoryLimit.
  void keep(size_t bytes) const;
  void account_to(Allowance* allowance) override;

  // Before it is bound, every document matches.
  bool matches(bson::DocumentView document, Details*) const override;
  bool matches_value(const bson::ValueView&) const override { return false; }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override;

 private:
  bool has_term(bson::DocumentView document, const std::set<std::string>& terms) const;
  bool has_phrase(bson::DocumentView document, const text::Phrase& phrase) const;

  const Question question_;
  MemoryBudget* budget_ = nullptr;  // nullptr: nobody counts
  mutable std::optional<Held> held_;
  std::shared_ptr<const storage::Index> index_;
  text::Search search_;
  std::vector<text::Phrase> phrases_, negated_phrases_;
};

// Returns the $text in the tree; nullptr: there is none. Throws BadValue for more than one, and for one in $nor.
Text* find_text(const Node& root);

// Binds the $text in the tree to the collection's text index. Throws IndexNotFound if there is none. `collection` may be nullptr.
void bind_text(const Node& root, const storage::Collection* collection, const std::string& ns);

}  // namespace server::query::match
