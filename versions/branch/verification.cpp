#include "versions/branch/verification.h"

#include <deque>
#include <unordered_set>

namespace versions {

namespace {

using base::OperationError;

constexpr size_t nodes_bytes = 8 << 20;

using Child = merkle::Content::Child;

class Verifier {
 public:
  Verifier(Transaction& transaction, Branches& branches, size_t damage_max, const std::function<void()>& interrupted)
      : transaction_(transaction), branches_(branches), damage_max_(damage_max), interrupted_(interrupted) {}

  void check_commit(const Commit& commit) {
    try {
      const VersionGraph& graph = branches_.graph();
      if (sha256(graph.statement(transaction_, commit)) != commit.id)
        report({.what = "the commit's row doesn't say what its id is the hash of"});
      if (graph.find(transaction_, base::to_hex(view(commit.id))) != commit.number)
        report({.what = "the commit's id leads to another commit"});
      for (const CommitNumber parent : commit.parents) {
        if (graph.stored(transaction_, parent).id != graph.commit(transaction_, parent)->id)
          report({.what = "a parent's row has another id"});
      }
      for (const CollectionState& state : commit.collections) {
        if (!is_known(state)) report({.what = "the commit's row names a collection by another number"});
      }
    } catch (const OperationError& error) {
      report({.what = error.what()});
    }
  }

  void check_tree(const Commit& commit, size_t collection, bool deep) {
    Verification::Collection& checked = verification_.collections[collection];
    const CollectionState* state = commit.state_of(branches_.collection(collection).parts.collection);
    const auto root = state ? commit.root_of(*state) : std::nullopt;
    if (!root) return;
    checked.has_root = true;
    checked.root = *root;
    collection_ = collection;
    state_ = state->state;
    purged_.clear();
    if (deep) {
      for (Bytes& key : branches_.store(collection).purged_of(transaction_, state_).keys) purged_.insert(std::move(key));
    }
    HashedDocuments documents([&](Bytes key, const Hash& hash) {
      if (hash != expected_.front())
        report({.collection = collection_, .key = std::move(key), .what = "the document is another than the commit says"});
      expected_.pop_front();
    });
    // It has a cache of its own, because it must check what is stored, not what is in memory.
    merkle::NodeCache cache(nodes_bytes);
    const auto nodes = branches_.roots().nodes(transaction_, cache);
    std::vector<Child> waiting{{*root}};
    while (!waiting.empty()) {
      const Child child = std::move(waiting.back());
      waiting.pop_back();
      if (interrupted_) interrupted_();
      check_node(*nodes, child, deep, documents, waiting);
    }
    documents.finish();
  }

  void report(Damage damage) {
    if (verification_.damaged++ < damage_max_) verification_.damage.push_back(std::move(damage));
  }
  Verification done() { return std::move(verification_); }
  void begin(size_t collections) { verification_.collections.resize(collections); }

 private:
  bool is_known(const CollectionState& state) const {
    for (size_t i = 0; i < branches_.collections(); ++i) {
      const Branches::Collection& one = branches_.collection(i);
      if (one.label == state.label) return one.parts.collection == state.collection;
    }
    return false;
  }

  void check_node(merkle::Nodes& nodes, const Child& child, bool deep, HashedDocuments& documents, std::vector<Child>& waiting) {
    merkle::NodePtr node;
    merkle::Content content;
    try {
      node = nodes.get(child.hash);
      if (deep) content = merkle::content_of(*node, child.place);
    } catch (const OperationError& error) {
      verification_.collections[collection_].whole_tree = false;
      return report({.collection = collection_, .node = child.hash, .what = error.what()});
    }
    ++verification_.collections[collection_].nodes;
    waiting.insert(waiting.end(), std::make_move_iterator(content.children.rbegin()),
                   std::make_move_iterator(content.children.rend()));
    for (auto& [key, value] : content.entries) check_document(std::move(key), value, documents);
  }

  void check_document(Bytes key, BytesView value, HashedDocuments& documents) {
    const auto expected = merkle::take_hash(value);
    if (!expected)
      return report({.collection = collection_, .key = std::move(key), .what = "the tree has no hash of the document"});
    std::optional<Bytes> content;
    try {
      content = branches_.store(collection_).get(transaction_, {.state = state_}, key);
    } catch (const OperationError& error) {
      return report({.collection = collection_, .key = std::move(key), .what = error.what()});
    }
    if (!content) {
      if (purged_.contains(key))
        ++verification_.collections[collection_].purged;
      else
        report({.collection = collection_, .key = std::move(key), .what = "the document is missing"});
      return;
    }
    ++verification_.collections[collection_].documents;
    expected_.push_back(*expected);
    documents.add(std::move(key), *content);
  }

  Transaction& transaction_;
  Branches& branches_;
  const size_t damage_max_;
  const std::function<void()>& interrupted_;
  Verification verification_;
  size_t collection_ = 0;
  State state_ = 0;
  std::unordered_set<Bytes> purged_;
  std::deque<Hash> expected_;  // the hashes that the trees have for documents which are still to be hashed
};

}  // namespace

Verification verify(Transaction& transaction, Branches& branches, CommitNumber number, bool deep, size_t damage_max,
                    const std::function<void()>& interrupted) {
  Verifier verifier(transaction, branches, damage_max, interrupted);
  verifier.begin(branches.collections());
  try {
    const Commit commit = branches.graph().stored(transaction, number);
    verifier.check_commit(commit);
    for (size_t i = 0; i < branches.collections(); ++i) verifier.check_tree(commit, i, deep);
  } catch (const OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw;
    verifier.report({.what = error.what()});
  }
  return verifier.done();
}

}  // namespace versions
