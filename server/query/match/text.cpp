#include "server/query/match/text.h"

#include <algorithm>

#include "server/query/match/array.h"
#include "server/query/match/parser.h"
#include "storage/collections/collection.h"
#include "storage/indexes/text_index.h"
#include "text/tokenizer.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;

// Finds the $text among the node and those below it. `count` is how many there are.
void look(const Node& node, bool negated, Text*& found, int& count) {
  switch (node.kind()) {
    case Kind::text:
      if (negated) bad_value("text expression not allowed in nor");
      // The node was made by a parser for one operation, which alone has the tree.
      found = const_cast<Text*>(static_cast<const Text*>(&node));
      ++count;
      return;
    case Kind::conjunction:
    case Kind::disjunction:
    case Kind::nor:
      for (const NodePtr& child : static_cast<const TreeNode&>(node).children()) {
        look(*child, negated || node.kind() == Kind::nor, found, count);
      }
      return;
    case Kind::negation: return look(static_cast<const NotNode&>(node).child(), true, found, count);
    case Kind::elem_match_object: return look(static_cast<const ElemMatchObject&>(node).filter(), negated, found, count);
    default: return;
  }
}

[[noreturn]] void wrong_type(const bson::Element& field, const char* wanted) {
  throw OperationError(ErrorCode::type_mismatch, "\"" + std::string(field.name) + "\" had the wrong type. Expected " + wanted +
                                                     ", found " + std::string(bson::type_name(field.type())));
}

std::string text_field(const bson::Element& field) {
  if (!field.is_string()) wrong_type(field, "string");
  return std::string(field.as_string());
}

bool flag_field(const bson::Element& field) {
  if (field.type() != bson::Type::boolean) wrong_type(field, "bool");
  return field.as_bool();
}

// A term is a node of a set.
constexpr size_t term_bytes = 96;

NodePtr parse_text(const bson::Element& operand, Parsing& parsing) {
  if (!parsing.context.text) bad_value("$text is not allowed in this context");
  check_top_level("$text", parsing);
  if (!operand.is_object()) bad_value("$text expects an object");
  Text::Question question;
  bool searches = false;
  for (const bson::Element& field : operand.as_document()) {
    if (field.name == "$search") {
      question.search = text_field(field);
      searches = true;
    } else if (field.name == "$language") {
      question.language = text_field(field);
    } else if (field.name == "$caseSensitive") {
      question.folding.case_sensitive = flag_field(field);
    } else if (field.name == "$diacriticSensitive") {
      question.folding.diacritic_sensitive = flag_field(field);
    } else {
      bad_value("extra fields in $text");
    }
  }
  if (!searches) throw OperationError(ErrorCode::no_such_key, "Missing expected field \"$search\"");
  return std::make_unique<Text>(std::move(question));
}

constexpr TopOperatorRow top_operators[] = {{"$text", parse_text}};

}  // namespace

Family text_family() {
  return {{}, top_operators};
}

Text* find_text(const Node& root) {
  Text* found = nullptr;
  int count = 0;
  look(root, false, found, count);
  if (count > 1) bad_value("Too many text expressions");
  return found;
}

void bind_text(const Node& root, const storage::Collection* collection, const std::string& ns) {
  Text* const text = find_text(root);
  if (!text) return;
  if (!collection) {
    throw OperationError(ErrorCode::index_not_found, "text index required for $text query (no such collection '" + ns + "')");
  }
  for (const auto& index : collection->indexes()) {
    if (index->spec().text && index->ready()) return text->bind(index);
  }
  throw OperationError(ErrorCode::index_not_found, "text index required for $text query");
}

void Text::account_to(Allowance* allowance) {
  Node::account_to(allowance);
  held_.reset();
  budget_ = allowance ? &allowance->memory() : nullptr;
}

void Text::keep(size_t bytes) const {
  work();
  if (!budget_) return;
  if (!held_) held_.emplace(*budget_);
  held_->add(bytes);
}

void Text::bind(std::shared_ptr<const storage::Index> index) {
  index_ = std::move(index);
  held_.reset();
  const storage::TextIndex& options = *index_->spec().text;
  const text::Language* language = question_.language.empty() ? options.language : text::find_language(question_.language);
  if (!language) {
    bad_value("unsupported language: \"" + question_.language + "\" for text index version " + std::to_string(options.version));
  }
  search_ = text::parse_search(question_.search, *language, options.version, question_.folding,
                               [this](std::string_view term) { keep(term_bytes + term.size()); });
  const auto phrases = [&](const std::vector<std::string>& texts) {
    std::vector<text::Phrase> made;
    for (const std::string& one : texts) made.emplace_back(one, options.version, question_.folding);
    return made;
  };
  phrases_ = phrases(search_.phrases);
  negated_phrases_ = phrases(search_.negated_phrases);
}

bool Text::has_term(bson::DocumentView document, const std::set<std::string>& terms) const {
  const storage::TextIndex& options = *index_->spec().text;
  bool found = false;
  storage::each_text(options, document, [&](std::string_view text, const text::Language& language, int32_t) {
    work_on(text.size());
    text::each_term(text, language, options.version, question_.folding, [&](std::string_view term) {
      found = terms.contains(std::string(term));
      return !found;
    });
    return !found;
  });
  return found;
}

bool Text::has_phrase(bson::DocumentView document, const text::Phrase& phrase) const {
  const storage::TextIndex& options = *index_->spec().text;
  bool found = false;
  storage::each_text(options, document, [&](std::string_view text, const text::Language& language, int32_t) {
    work_on(text.size());
    found = phrase.occurs_in(text, language);
    return !found;
  });
  return found;
}

bool Text::fits(bson::DocumentView document) const {
  if (question_.folding.case_sensitive || question_.folding.diacritic_sensitive) {
    if (!has_term(document, search_.terms)) return false;
  }
  if (!search_.negated_terms.empty() && has_term(document, search_.negated_terms)) return false;
  const auto occurs = [&](const text::Phrase& phrase) { return has_phrase(document, phrase); };
  return std::all_of(phrases_.begin(), phrases_.end(), occurs) &&
         std::none_of(negated_phrases_.begin(), negated_phrases_.end(), occurs);
}

bool Text::matches(bson::DocumentView document, Details*) const {
  if (!index_) return true;
  const auto* filter = index_->partial_predicate();
  return (!filter || filter->matches(document)) && has_term(document, search_.terms) && fits(document);
}

void Text::append_operator(bson::Builder& out) const {
  auto object = out.object("$text");
  const std::string_view language =
      !question_.language.empty() || !index_ ? std::string_view(question_.language) : index_->spec().text->language->name;
  object.append("$search", question_.search).append("$language", language);
  object.append("$caseSensitive", question_.folding.case_sensitive);
  object.append("$diacriticSensitive", question_.folding.diacritic_sensitive);
}

}  // namespace server::query::match
