// A text index has an entry for each term of a document's texts, with the term's score in the document.
//
//   {a: 1, _fts: "text", _ftsx: 1, b: 1}     fields before the terms, term, score, fields behind
//   {a: 5, body: "hot coffee", b: 7}      -> 5 "coffe" 0.75 7    5 "hot" 0.75 7
//
// The terms come from the string fields that have a weight, or from all strings ({"$**": "text"}). A document, or an object in
// it, may name the language of its texts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "storage/indexes/index_keys.h"
#include "text/language.h"

namespace storage {

struct TextIndex {
  int version = text::version_newest;
  std::map<std::string, int32_t, std::less<>> weights;  // by path; "$**" isn't among them
  bool all_strings = false;
  const text::Language* language = nullptr;
  std::string language_override;  // the field in which documents name their language
  size_t before = 0;              // so many fields stand before the terms
};

// Returns whether the key pattern is a text index's.
bool is_text_key(bson::DocumentView key);

// Fills in the fields, the key and the options of a text index. Throws CannotCreateIndex in MongoDB's words.
void parse_text_index(bson::DocumentView given, IndexSpec& spec);

// Appends {weights, default_language, language_override, textIndexVersion}, as listIndexes shows them.
void append_text_options(bson::DocumentView given, const IndexSpec& spec, bson::Builder& out);

// Compares the options of two text indexes, whose versions may differ.
bool same_text_options(const IndexSpec& a, const IndexSpec& b);

// Computes the keys. Throws for a language that there isn't (17262), for arrays in the fields around the terms, and for documents
// with too many terms.
void text_keys(const IndexSpec& spec, bson::DocumentView document, IndexKeys& out);

// Returns the values behind one of these keys: {_fts: "coffe", _ftsx: 0.75}.
bson::Document text_key_values(const IndexSpec& spec, bson::DocumentView document, BytesView key);

// Returns the beginning of the keys with that term, up to the score. `before` has the values of the fields before the terms.
Bytes text_key_beginning(const IndexSpec& spec, const std::vector<bson::Value>& before, std::string_view term);

// Reads the score that follows the beginning of a key.
double text_key_score(BytesView key, size_t beginning_bytes);

// Calls `each` with every text of the document that the index holds, until it returns false.
using EachText = std::function<bool(std::string_view text, const text::Language& language, int32_t weight)>;
void each_text(const TextIndex& index, bson::DocumentView document, const EachText& each);

}  // namespace storage
