#include "storage/indexes/text_index.h"

#include <cmath>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/key_types.h"
#include "bson/keystring.h"
#include "bson/md5.h"
#include "bson/path.h"
#include "text/tokenizer.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::Type;
using bson::ValueView;

constexpr int32_t weight_end = 100'000;
constexpr size_t terms_max = 400'000;
constexpr size_t terms_bytes_max = 4 << 20;
constexpr std::string_view all_fields = "$**";

[[noreturn]] void cannot(const std::string& message) {
  throw OperationError(ErrorCode::cannot_create_index, message);
}

bool is_text(const Element& field) {
  return field.is_string() && field.as_string() == "text";
}

void refuse_reserved(std::string_view name) {
  if (name == "_fts" || name == "_ftsx") {
    cannot("text index with reserved fields _fts/_ftsx not allowed");
  }
}

void add_terms_fields(IndexSpec& spec, bson::Builder& key) {
  spec.fields.push_back({.path = "_fts", .kind = FieldKind::text});
  spec.fields.push_back({.path = "_ftsx", .kind = FieldKind::text});
  key.append("_fts", "text").append("_ftsx", 1);
}

void add_ordered(const Element& field, IndexSpec& spec, bson::Builder& key) {
  refuse_reserved(field.name);
  const double direction = field.is_number() ? field.to_double() : 0;
  if (direction != 1 && direction != -1) cannot("expected value 1 or -1 for non-text key in compound index");
  spec.fields.push_back({.path = std::string(field.name), .descending = direction < 0});
  key.append_element(field);
}

// The key is as a client writes it ({a: 1, body: "text"}), or as it is kept ({a: 1, _fts: "text", _ftsx: 1}).
void parse_key(DocumentView given, IndexSpec& spec, TextIndex& index) {
  bson::Builder key;
  enum { before, terms, behind } place = before;
  bool kept = false;
  for (const Element& field : given) {
    if (field.name == "_fts" && place == before) {
      if (!is_text(field)) cannot("expecting _fts:\"text\"");
      index.before = spec.fields.size();
      add_terms_fields(spec, key);
      place = terms;
      kept = true;
    } else if (field.name == "_ftsx" && kept && place == terms) {
      if (!field.is_number() || field.to_double() != 1) cannot("expecting _ftsx:1");
      place = behind;
    } else if (kept && place == terms) {
      cannot("expected _ftsx after _fts");
    } else if (is_text(field)) {
      if (place == behind) cannot("'text' fields in index must all be adjacent");
      refuse_reserved(field.name);
      if (place == before) {
        index.before = spec.fields.size();
        add_terms_fields(spec, key);
      }
      place = terms;
      index.weights.emplace(field.name, 1);
    } else {
      if (place == terms) place = behind;
      add_ordered(field, spec, key);
    }
  }
  if (kept && place == terms) cannot("expected _ftsx after _fts");
  spec.key = key.done();
}

void check_weight(std::string_view path, int32_t weight) {
  if (weight <= 0 || weight >= weight_end) {
    cannot("text index weight must be in the exclusive interval (0,100000) but found: " + std::to_string(weight));
  }
  if (path == all_fields) return;
  if (path.empty()) cannot("weight cannot be on an empty field");
  for (const std::string_view part : bson::split_path(path)) {
    if (part.empty()) cannot("weight cannot have empty path component");
    if (part.front() == '$') cannot("weight cannot have path component with $ prefix");
  }
}

void parse_weights(const Element& weights, TextIndex& index) {
  if (weights.is_object()) {
    for (const Element& weight : weights.as_document()) {
      if (!weight.is_number()) cannot("weight for text index needs numeric type");
      const int64_t number = weight.to_int64();
      index.weights.insert_or_assign(std::string(weight.name),
                                     static_cast<int32_t>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX)));
    }
  } else if (weights.is_string() && weights.as_string() == all_fields) {
    index.weights.emplace(all_fields, 1);
  } else if (weights.exists()) {
    cannot("text index option 'weights' must be an object");
  }
  if (index.weights.empty()) cannot("text index option 'weights' must specify fields or the wildcard");
  for (const auto& [path, weight] : index.weights) check_weight(path, weight);
}

int parse_version(const Element& version) {
  if (!version.exists()) return text::version_newest;
  if (!version.is_number()) cannot("text index option 'textIndexVersion' must be a number");
  const int64_t number = version.to_int64();
  if (number < 1 || number > text::version_newest) cannot("bad textIndexVersion: " + std::to_string(number));
  return static_cast<int>(number);
}

std::string parse_override(const Element& name) {
  if (!name.exists()) return "language";
  if (!name.is_string()) cannot("language_override must be a string");
  const std::string_view field = name.as_string();
  if (field.empty() || field.front() == '$' || field.find('.') != field.npos) cannot("language_override is not valid");
  return std::string(field);
}

// Returns the language of an object's texts, unless it names none.
const text::Language& language_of(const TextIndex& index, DocumentView object, const text::Language& outer) {
  const Element name = object.find(index.language_override);
  if (!name.exists()) return outer;
  if (!name.is_string()) throw OperationError(17261, "found language override field in document with non-string type");
  const text::Language* language = text::find_language(name.as_string());
  if (!language) throw OperationError(17262, "language override unsupported: " + std::string(name.as_string()));
  return *language;
}

class TextWalk {
 public:
  TextWalk(const TextIndex& index, const EachText& each) : index_(index), each_(each) {}

  bool object(DocumentView object, const text::Language& outer) {
    const text::Language& language = path_.empty() || index_.version > 1 ? language_of(index_, object, outer) : outer;
    const size_t length = path_.size();
    for (const Element& field : object) {
      if (field.name == index_.language_override) continue;
      // A long path isn't copied for each field behind it.
      if (length > 0) path_ += '.';
      path_ += field.name;
      const bool more = value(field, language, false);
      path_.resize(length);
      if (!more) return false;
    }
    return true;
  }

 private:
  bool value(const Element& field, const text::Language& language, bool in_array) {
    const auto weight = index_.weights.lower_bound(path_);
    const bool exact = weight != index_.weights.end() && weight->first == path_;
    if (!index_.all_strings && !exact && !leads_to_weight()) return true;
    if (field.is_string()) {
      return !(exact || index_.all_strings) || each_(field.as_string(), language, exact ? weight->second : 1);
    }
    if (field.is_object()) return (exact && !index_.all_strings) || object(field.as_document(), language);
    if (!field.is_array() || (in_array && !index_.all_strings)) return true;
    for (const Element& element : field.as_document()) {
      if (!value(element, language, true)) return false;
    }
    return true;
  }

  bool leads_to_weight() {
    path_ += '.';
    const auto weight = index_.weights.lower_bound(path_);
    const bool leads = weight != index_.weights.end() && weight->first.starts_with(path_);
    path_.pop_back();
    return leads;
  }

  const TextIndex& index_;
  const EachText& each_;
  std::string path_;  // of the value that it stands on
};

using Scores = std::map<std::string, double>;

// Adds the scores of one text's terms: a term counts for more if it is frequent among the text's terms, and if it is all there
// is.
//
// Returns false once there are more terms than a document may have.
bool add_scores(const TextIndex& index, std::string_view text, const text::Language& language, int32_t weight, Scores& scores) {
  struct Term {
    double count = 0, frequency = 0, divisor = 0;
  };
  std::unordered_map<std::string, Term> terms;
  double all = 0;
  text::each_term(text, language, index.version, {}, [&](std::string_view word) {
    Term& term = terms[std::string(word)];
    term.divisor = term.divisor == 0 ? 1 : term.divisor * 2;
    ++term.count;
    term.frequency += 1 / term.divisor;
    ++all;
    return terms.size() <= terms_max;
  });
  if (terms.size() > terms_max) return false;
  for (const auto& [word, term] : terms) {
    const double share = 0.5 * term.count / all + 0.5;
    const bool whole = text.size() == word.size() && text::fold(text, language, 1, {}) == word;
    scores[word] += weight * term.frequency * share * (whole ? 1.1 : 1);
    if (scores.size() > terms_max) return false;
  }
  return true;
}

// Long terms are cut, and their digest keeps them apart.
std::string kept_term(const std::string& term, int version) {
  if (version < 2) return term;
  const size_t whole = version == 2 ? 64 : 256, begin = whole - 32;
  if (term.size() <= whole) return term;
  bson::Md5 digest;
  digest.append(term);
  return term.substr(0, begin) + digest.hex();
}

// Returns the value of a field around the terms, which has no array on its path.
ValueView plain_value(DocumentView document, const IndexField& field) {
  ValueView at(Type::object, document.bytes());
  for (const std::string_view part : bson::split_path(field.path)) {
    if (!at.is_object()) return {};
    at = at.as_document().find(part);
    if (at.is_array()) {
      throw OperationError(ErrorCode::cannot_build_index_keys,
                           "Field '" + field.path + "' of text index contains an array in document: " + bson::to_shell(document));
    }
  }
  return at;
}

void append_weights(DocumentView given, const TextIndex& index, bson::Builder& out) {
  auto known = index.weights;
  if (index.all_strings) {
    const Element weights = given.find("weights");
    const Element weight = weights.is_object() ? weights.as_document().find(all_fields) : Element();
    known.emplace(all_fields, weight.is_number() ? static_cast<int32_t>(weight.to_int64()) : 1);
  }
  auto shown = out.object("weights");
  for (const auto& [path, weight] : known) shown.append(path, weight);
}

using EachKey = std::function<void(Bytes key, const std::string& term, double score)>;

void each_key(const IndexSpec& spec, DocumentView document, const EachKey& each) {
  const TextIndex& index = *spec.text;
  const auto append_plain = [&](bson::KeyString& key, size_t i) {
    const ValueView value = plain_value(document, spec.fields[i]);
    key.append(value.exists() ? value : ValueView(Type::null, {}), spec.fields[i].descending);
  };
  bson::KeyString before, behind;
  for (size_t i = 0; i < index.before; ++i) append_plain(before, i);
  for (size_t i = index.before + 2; i < spec.fields.size(); ++i) append_plain(behind, i);

  Scores scores;
  each_text(index, document, [&](std::string_view text, const text::Language& language, int32_t weight) {
    if (add_scores(index, text, language, weight, scores)) return true;
    throw OperationError(16732, "too many unique keys for a single document to have a text index, max = " +
                                    std::to_string(terms_max) + bson::to_shell(document.find("_id")));
  });
  size_t bytes = 0;
  for (const auto& [word, score] : scores) {
    const std::string term = kept_term(word, index.version);
    bson::KeyString key = before;
    key.append(bson::Value(term)).append(bson::Value(score));
    Bytes whole = std::move(key).bytes() + behind.bytes();
    bytes += whole.size();
    if (bytes > terms_bytes_max) {
      throw OperationError(16733,
                           "trying to index text where term list is too big, max = 4mb" + bson::to_shell(document.find("_id")));
    }
    each(std::move(whole), term, score);
  }
}

}  // namespace

bool is_text_key(DocumentView key) {
  for (const Element& field : key) {
    if (is_text(field)) return true;
  }
  return false;
}

void parse_text_index(DocumentView given, IndexSpec& spec) {
  TextIndex index;
  spec.fields.clear();
  parse_key(given.find("key").as_document(), spec, index);
  parse_weights(given.find("weights"), index);
  const Element language = given.find("default_language");
  if (language.exists() && !language.is_string()) cannot("default_language needs a string type");
  index.language = language.exists() ? text::find_language(language.as_string()) : &text::english();
  if (!index.language) cannot("default_language is not valid");
  index.language_override = parse_override(given.find("language_override"));
  index.version = parse_version(given.find("textIndexVersion"));
  index.all_strings = index.weights.erase(std::string(all_fields)) > 0;
  if (spec.collator) {
    cannot("Index type 'text' does not support collation: " + bson::to_shell(spec.collator->specification()));
  }
  spec.text = std::make_shared<TextIndex>(std::move(index));
}

// Options that were given stand in their order, and those that weren't come behind them.
void append_text_options(DocumentView given, const IndexSpec& spec, bson::Builder& out) {
  const auto append = [&](std::string_view name) {
    if (name == "weights") append_weights(given, *spec.text, out);
    if (name == "default_language") {
      const Element language = given.find(name);
      out.append(name, language.exists() ? language.as_string() : spec.text->language->name);
    }
    if (name == "language_override") out.append(name, spec.text->language_override);
  };
  for (const Element& option : given) append(option.name);
  for (const char* name : {"weights", "default_language", "language_override"}) {
    if (!given.has(name)) append(name);
  }
  out.append("textIndexVersion", spec.text->version);
}

bool same_text_options(const IndexSpec& a, const IndexSpec& b) {
  return a.text->weights == b.text->weights && a.text->all_strings == b.text->all_strings &&
         a.text->language == b.text->language && a.text->language_override == b.text->language_override;
}

void text_keys(const IndexSpec& spec, DocumentView document, IndexKeys& out) {
  out.clear();
  each_key(spec, document, [&](Bytes key, const std::string&, double) { out.add(std::move(key), {}); });
  // A document has many keys, as if there were an array under the terms.
  if (out.keys.size() > 1) out.multikey_fields = uint32_t{1} << spec.text->before;
  std::sort(out.keys.begin(), out.keys.end());
}

bson::Document text_key_values(const IndexSpec& spec, DocumentView document, BytesView key) {
  bson::Builder out;
  const auto append_plain = [&](size_t i) {
    const ValueView value = plain_value(document, spec.fields[i]);
    out.append(spec.fields[i].path, value.exists() ? value : ValueView(Type::null, {}));
  };
  each_key(spec, document, [&](const Bytes& one, const std::string& term, double score) {
    if (one != key) return;
    for (size_t i = 0; i < spec.text->before; ++i) append_plain(i);
    out.append("_fts", term).append("_ftsx", score);
    for (size_t i = spec.text->before + 2; i < spec.fields.size(); ++i) append_plain(i);
  });
  return out.done();
}

Bytes text_key_beginning(const IndexSpec& spec, const std::vector<bson::Value>& before, std::string_view term) {
  bson::KeyString key;
  for (size_t i = 0; i < before.size(); ++i) key.append(before[i], spec.fields[i].descending);
  key.append(bson::Value(kept_term(std::string(term), spec.text->version)));
  return std::move(key).bytes();
}

double text_key_score(BytesView key, size_t beginning_bytes) {
  bson::KeyReader reader(key.substr(std::min(beginning_bytes, key.size())), {});
  bson::Builder out;
  reader.next(false, "", out);
  const bson::Document score = out.done();
  return reader.ok() && score.view().first().is_number() ? score.view().first().to_double() : 0;
}

void each_text(const TextIndex& index, DocumentView document, const EachText& each) {
  TextWalk(index, each).object(document, *index.language);
}

}  // namespace storage
