#include "bson/json_patch.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/value.h"

namespace bson {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::failed_to_parse, "no JSON patch: " + why);
}

std::vector<std::string> tokens_of(std::string_view path) {
  std::vector<std::string> tokens;
  if (path.empty()) return tokens;
  if (path.find('\0') != path.npos) refuse("a path has a null byte, which no field's name may have");
  if (path.front() != '/') refuse("the path '" + std::string(path) + "' doesn't begin with a '/'");
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') {
      tokens.emplace_back();
      continue;
    }
    if (path[i] != '~') {
      tokens.back().push_back(path[i]);
      continue;
    }
    const char next = i + 1 < path.size() ? path[i + 1] : '\0';
    if (next != '0' && next != '1') refuse("in the path '" + std::string(path) + "' a '~' is neither ~0 nor ~1");
    tokens.back().push_back(next == '0' ? '~' : '/');
    ++i;
  }
  if (tokens.size() > static_cast<size_t>(nesting_max)) refuse("a path has too many levels");
  return tokens;
}

// A part of a document that is being changed. It stays a view of the bytes that it came from until something in it changes.
struct Node {
  ValueView view;
  bool opened = false;
  std::vector<std::string> names = {};  // of an object's members
  std::vector<Node> parts = {};

  Node() = default;
  explicit Node(const ValueView& value) : view(value) {}

  bool is_object() const { return view.is_object(); }
  bool is_array() const { return view.is_array(); }

  void open() {
    if (opened) return;
    opened = true;
    for (const Element& one : view.as_document()) {
      if (is_object()) names.emplace_back(one.name);
      parts.emplace_back(static_cast<ValueView>(one));
    }
  }
};

void check_size(size_t bytes) {
  if (bytes > document_bytes_max)
    throw OperationError(ErrorCode::bson_object_too_large, "a patch makes a document of more than 16777216 bytes");
}

void append(const Node& node, std::string_view name, Builder& out, int level);

void append_parts(const Node& node, Builder& out, int level) {
  if (level > nesting_max) throw OperationError(ErrorCode::overflow, "a patch makes a document that nests too deep");
  std::string index;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    if (node.is_array()) index = std::to_string(i);
    append(node.parts[i], node.is_array() ? std::string_view(index) : node.names[i], out, level);
    check_size(out.size());
  }
}

// `level`: of the document that this is a field of.
void append(const Node& node, std::string_view name, Builder& out, int level) {
  if (!node.opened) {
    check_size(node.view.bytes().size());
    out.append(name, node.view);
    return;
  }
  Builder inner;
  append_parts(node, inner, level + 1);
  if (node.is_array())
    out.append_array(name, inner.done());
  else
    out.append(name, inner.done());
}

Value value_of(const Node& node, int level) {
  if (!node.opened) return Value(node.view);
  Builder out;
  append_parts(node, out, level);
  return node.is_array() ? Value::array(out.done()) : Value(out.done());
}

}  // namespace

JsonPatch::JsonPatch(DocumentView operations) {
  static constexpr std::pair<std::string_view, Kind> kinds[] = {{"add", Kind::add},         {"remove", Kind::remove},
                                                                {"replace", Kind::replace}, {"move", Kind::move},
                                                                {"copy", Kind::copy},       {"test", Kind::test}};
  for (const Element& one : operations) {
    if (!one.is_object()) refuse("an operation is no object");
    if (operations_.size() == operations_max) refuse("it has more than " + std::to_string(operations_max) + " operations");
    const DocumentView fields = one.as_document();
    const Element op = fields.find("op"), path = fields.find("path"), from = fields.find("from"), value = fields.find("value");
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                   [&](const auto& known) { return op.is_string() && op.as_string() == known.first; });
    if (kind == std::end(kinds)) refuse("'op' is none of add, remove, replace, move, copy, test");
    if (!path.is_string()) refuse("'path' is no string");
    const bool moves = kind->second == Kind::move || kind->second == Kind::copy;
    if (moves && !from.is_string()) refuse("'from' is no string");
    if (!moves && kind->second != Kind::remove && !value.exists()) refuse("'value' is missing");
    Operation made{kind->second, tokens_of(path.as_string()), {}, std::string(path.as_string()), value};
    if (moves) made.from = tokens_of(from.as_string());
    const bool inside = made.from.size() < made.path.size() && std::equal(made.from.begin(), made.from.end(), made.path.begin());
    if (kind->second == Kind::move && inside) refuse("a value is moved into itself");
    operations_.push_back(std::move(made));
  }
}

// Changes one document by the operations.
class JsonPatch::Run {
 public:
  explicit Run(std::optional<DocumentView> before) {
    if (before) root_.emplace(ValueView(Type::object, before->bytes()));
  }

  bool fits(const Operation& one) {
    using enum Kind;
    switch (one.kind) {
      case add: return put(one.path, Node(one.value));
      case remove: return take(one.path).has_value();
      case replace: {
        Node* const there = find(one.path);
        if (there) *there = Node(one.value);
        return there != nullptr;
      }
      case test: {
        const Node* const there = find(one.path);
        return there && same(*there, one.value);
      }
      case copy: {
        const Node* const there = find(one.from);
        if (!there) return false;
        take_apart(check_depth(*there, one.path.size()));
        return put(one.path, Node(*there));
      }
      case move: {
        if (one.from == one.path) return find(one.from) != nullptr;
        std::optional<Node> taken = take(one.from);
        if (!taken) return false;
        check_depth(*taken, one.path.size());
        return put(one.path, std::move(*taken));
      }
    }
    return false;
  }

  std::optional<Document> result() const {
    if (!root_) return std::nullopt;
    if (!root_->is_object()) throw OperationError(ErrorCode::bad_value, "a patch makes something of a document that is none");
    const Value whole = value_of(*root_, 1);
    check_size(whole.view().bytes().size());
    return Document(whole.view().as_document());
  }

 private:
  static constexpr uint64_t work_max = 4'000'000;
  static constexpr size_t parts_max = 1'000'000;

  void work(uint64_t steps) {
    if ((work_ += steps) > work_max) throw OperationError(ErrorCode::bad_value, "a patch takes too much work");
  }

  // A value that is built costs work for its bytes.
  Value built(const Node& node) {
    Value value = value_of(node, 1);
    work(1 + value.view().bytes().size() / 64);
    return value;
  }

  bool same(const Node& node, const ValueView& value) {
    if (node.opened) return built(node).view().identical(value);
    work(1 + value.bytes().size() / 64);
    return node.view.identical(value);
  }

  void open(Node& node) {
    work(1);
    if (node.opened) return;
    node.open();
    take_apart(node.parts.size());
  }

  // Parts take much more memory than the bytes that they are of.
  void take_apart(size_t parts) {
    if ((parts_ += parts) > parts_max)
      throw OperationError(ErrorCode::bad_value, "a patch takes documents apart into more than 1000000 parts");
  }

  // `levels`: how deep the node is going to stand. Returns how many parts it was taken apart into.
  size_t check_depth(const Node& node, size_t levels) {
    work(2);
    if (levels > static_cast<size_t>(nesting_max))
      throw OperationError(ErrorCode::overflow, "a patch makes a document that nests too deep");
    size_t parts = node.parts.size();
    for (const Node& part : node.parts) parts += check_depth(part, levels + 1);
    return parts;
  }

  static std::optional<size_t> index_of(const std::string& token, size_t end) {
    size_t index = 0;
    const auto [at, error] = std::from_chars(token.data(), token.data() + token.size(), index);
    const bool canonical = token == "0" || (!token.empty() && token.front() != '0');
    if (error != std::errc() || at != token.data() + token.size() || !canonical || index >= end) return std::nullopt;
    return index;
  }

  std::optional<size_t> place(Node& node, const std::string& token) {
    if (!node.is_object() && !node.is_array()) return std::nullopt;
    open(node);
    if (node.is_array()) return index_of(token, node.parts.size());
    work(node.names.size() / 16);
    const auto found = std::find(node.names.begin(), node.names.end(), token);
    return found == node.names.end() ? std::nullopt : std::optional<size_t>(found - node.names.begin());
  }

  Node* find(const std::vector<std::string>& path) { return find(path, path.size()); }
  Node* find(const std::vector<std::string>& path, size_t tokens) {
    Node* at = root_ ? &*root_ : nullptr;
    for (size_t i = 0; at && i < tokens; ++i) {
      const auto next = place(*at, path[i]);
      at = next ? &at->parts[*next] : nullptr;
    }
    return at;
  }

  bool put(const std::vector<std::string>& path, Node node) {
    if (path.empty()) {
      if (root_ && !same(*root_, built(node))) return false;
      root_ = std::move(node);
      return true;
    }
    Node* const parent = find(path, path.size() - 1);
    if (!parent || (!parent->is_object() && !parent->is_array())) return false;
    open(*parent);
    const std::string& token = path.back();
    if (parent->is_array()) {
      const auto index = token == "-" ? std::optional(parent->parts.size()) : index_of(token, parent->parts.size() + 1);
      if (!index) return false;
      work((parent->parts.size() - *index) / 4);
      parent->parts.insert(parent->parts.begin() + static_cast<std::ptrdiff_t>(*index), std::move(node));
      return true;
    }
    if (const auto there = place(*parent, token)) return same(parent->parts[*there], built(node));
    parent->names.push_back(token);
    parent->parts.push_back(std::move(node));
    return true;
  }

  std::optional<Node> take(const std::vector<std::string>& path) {
    if (path.empty()) return std::exchange(root_, std::nullopt);
    Node* const parent = find(path, path.size() - 1);
    const auto there = parent ? place(*parent, path.back()) : std::nullopt;
    if (!there) return std::nullopt;
    work((parent->parts.size() - *there) / 4);
    const auto at = static_cast<std::ptrdiff_t>(*there);
    Node taken = std::move(parent->parts[*there]);
    parent->parts.erase(parent->parts.begin() + at);
    if (parent->is_object()) parent->names.erase(parent->names.begin() + at);
    return taken;
  }

  std::optional<Node> root_;
  uint64_t work_ = 0;
  size_t parts_ = 0;
};

JsonPatch::Outcome JsonPatch::apply(std::optional<DocumentView> before) const {
  Run run(before);
  for (const Operation& one : operations_) {
    if (!run.fits(one)) return {.document = {}, .mismatch = one.text};
  }
  return {.document = run.result(), .mismatch = {}};
}

// --- patches of two documents

namespace {

class Maker {
 public:
  Maker(const PatchWork& work, const PatchMemory& memory) : work_(work), memory_(memory) {}

  void add(const ValueView& value) { append("add", &value); }
  void replace(const ValueView& before, const ValueView& after) {
    append("test", &before);
    append("replace", &after);
  }
  void remove(const ValueView& before) {
    append("test", &before);
    append("remove", nullptr);
  }

  bool same(const ValueView& before, const ValueView& after) {
    work(std::min(before.bytes().size(), after.bytes().size()));
    return before.identical(after);
  }
  // The values differ.
  void change(const ValueView& before, const ValueView& after) {
    if (before.is_object() && after.is_object() && follow(before.as_document(), after.as_document())) return;
    if (before.is_array() && after.is_array() && compare_arrays(before.as_document(), after.as_document())) return;
    replace(before, after);
  }

  size_t operations() const { return operations_; }
  Document done() { return Document(out_.done_value().view().as_document()); }

 private:
  // The path is one level longer for as long as a Step lives.
  class Step {
   public:
    Step(std::string& path, std::string_view token) : path_(path), above_(path.size()) {
      path += '/';
      for (const char c : token) {
        if (c == '~')
          path += "~0";
        else if (c == '/')
          path += "~1";
        else
          path += c;
      }
    }
    ~Step() { path_.resize(above_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& path_;
    const size_t above_;
  };

  void work(size_t bytes) const {
    if (work_) work_(bytes);
  }

  void append(std::string_view op, const ValueView* value) {
    work(path_.size() + (value ? value->bytes().size() : 0));
    Builder one;
    one.append("op", op).append("path", path_);
    if (value) one.append("value", *value);
    out_.append(one.done());
    ++operations_;
  }

  // This counts, in steps, the bytes that are kept as long as it lives.
  class Kept {
   public:
    explicit Kept(Maker& maker) : maker_(maker) {}
    ~Kept() {
      maker_.kept_bytes_ -= bytes_;
      if (reported_ > 0) maker_.memory_(maker_.kept_bytes_);
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    void add(size_t bytes) {
      bytes_ += bytes;
      maker_.kept_bytes_ += bytes;
      if (!maker_.memory_ || bytes_ - reported_ < step_bytes) return;
      maker_.memory_(maker_.kept_bytes_);
      reported_ = bytes_;
    }

   private:
    static constexpr size_t step_bytes = 64 << 10;
    Maker& maker_;
    size_t bytes_ = 0, reported_ = 0;
  };
  static constexpr size_t member_bytes = 128, element_bytes = 2 * sizeof(ValueView);  // as containers keep them

  // Returns false if changes of members don't give the order of fields that `after` has. Then nothing was appended.
  bool follow(DocumentView before, DocumentView after) {
    Kept kept(*this);
    std::unordered_map<std::string_view, ValueView> old, now;
    for (const Element& one : before) {
      work(one.name.size());
      kept.add(member_bytes);
      if (!old.emplace(one.name, static_cast<ValueView>(one)).second) return false;
    }
    for (const Element& one : after) {
      work(one.name.size());
      kept.add(member_bytes);
      if (!now.emplace(one.name, static_cast<ValueView>(one)).second) return false;
    }
    // The members that stay come first, in their order; those that are added follow.
    auto next = after.begin();
    for (const Element& one : before) {
      work(one.name.size());
      if (!now.contains(one.name)) continue;
      if (next == after.end() || next->name != one.name) return false;
      ++next;
    }
    // Most members stay as they are, and the path to them may be long, so only those that changed have one made.
    for (const Element& one : before) {
      const auto found = now.find(one.name);
      if (found != now.end() && same(one, found->second)) continue;
      const Step step(path_, one.name);
      if (found == now.end())
        remove(one);
      else
        change(one, found->second);
    }
    for (; next != after.end(); ++next) {
      const Step step(path_, next->name);
      add(*next);
    }
    return true;
  }

  // Elements before and behind what changed stay; those between are compared one by one. Returns false if the elements have other
  // names than their positions, which changes of elements would give them. Then nothing was appended.
  bool compare_arrays(DocumentView before, DocumentView after) {
    Kept kept(*this);
    const auto elements = [&](DocumentView array, std::vector<ValueView>& out) {
      for (const Element& one : array) {
        work(0);
        if (one.name != std::to_string(out.size())) return false;
        kept.add(element_bytes);
        out.push_back(one);
      }
      return true;
    };
    std::vector<ValueView> old, now;
    if (!elements(before, old) || !elements(after, now)) return false;
    size_t first = 0, old_end = old.size(), now_end = now.size();
    while (first < old_end && first < now_end && same(old[first], now[first])) ++first;
    while (old_end > first && now_end > first && same(old[old_end - 1], now[now_end - 1])) --old_end, --now_end;
    size_t at = first;
    for (; at < old_end && at < now_end; ++at) {
      if (same(old[at], now[at])) continue;
      const Step step(path_, std::to_string(at));
      change(old[at], now[at]);
    }
    for (size_t i = old_end; i > at; --i) {
      const Step step(path_, std::to_string(i - 1));
      remove(old[i - 1]);
    }
    for (; at < now_end; ++at) {
      const Step step(path_, std::to_string(at));
      add(now[at]);
    }
    return true;
  }

  const PatchWork& work_;
  const PatchMemory& memory_;
  size_t kept_bytes_ = 0;
  std::string path_;  // leads to the values that are compared
  ArrayBuilder out_;
  size_t operations_ = 0;
};

}  // namespace

Document json_patch_of(std::optional<DocumentView> before, std::optional<DocumentView> after, const PatchWork& work,
                       const PatchMemory& memory) {
  const auto value = [](DocumentView document) { return ValueView(Type::object, document.bytes()); };
  Maker maker(work, memory);
  if (!after) {
    if (before) maker.remove(value(*before));
  } else if (!before) {
    maker.add(value(*after));
  } else if (!maker.same(value(*before), value(*after))) {
    maker.change(value(*before), value(*after));
  }
  if (maker.operations() <= JsonPatch::operations_max) return maker.done();
  // No patch has so many. The documents as wholes say the same.
  Maker whole(work, memory);
  whole.replace(value(*before), value(*after));
  return whole.done();
}

}  // namespace bson
