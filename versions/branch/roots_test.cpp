// These tests check what commits say of documents: proofs, damage that verification finds, purges, and commits from before there
// were roots.
#include <set>

#include "bson/json.h"
#include "versions/branch/commit_proof.h"
#include "versions/branch/test_repository.h"
#include "versions/branch/verification.h"

using namespace versions;
using namespace versions::test;

namespace {

// A repository with some commits on two branches, and the documents that the newest commit of main shows.
struct Committed {
  explicit Committed(int documents_more = 200, TreeKind kind = {})
      : repository(directory.path(), Layout::hybrid, 12), tree(kind) {
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      for (int id = 1; id <= 12; ++id) documents[id] = document(id, 0, 0);
      for (int id = 20; id < 20 + documents_more; ++id) put(transaction, document(id, id, 0, "some text"));
      commit(transaction);
      for (int id = 5; id < 40; id += 5) put(transaction, document(id, 7, 7));
      repository.remove(transaction, "main", 3);
      documents.erase(3);
      commit(transaction);
    });
  }
  void put(Transaction& transaction, const Bytes& bytes) {
    repository.put(transaction, "main", bytes);
    documents[id_of(bytes)] = bytes;
  }
  void commit(Transaction& transaction) { last = repository.branches->commit(transaction, "main", info()); }
  CommitInfo info() { return {++time_ms, "what was done", {{"things", tree}}}; }
  Branches& branches() { return *repository.branches; }
  Verification verify(bool deep) {
    Transaction transaction(repository.disk, Transaction::Mode::read);
    return versions::verify(transaction, branches(), last->number, deep, 100, {});
  }

  storage::TemporaryDirectory directory;
  Repository repository;
  TreeKind tree;
  Documents documents;
  std::shared_ptr<const Commit> last;
  int64_t time_ms = 1000;
};

}  // namespace

TEST_CASE("a commit proves of every document that it shows it, and of others that it doesn't") {
  const TreeKind tree = GENERATE(from_range(std::begin(all_trees), std::end(all_trees)));
  Committed committed(200, tree);
  Transaction transaction(committed.repository.disk, Transaction::Mode::read);
  CHECK(committed.last->collections[0].digest == root_of(committed.documents, tree));
  size_t longest = 0;
  for (int id = 1; id < 250; ++id) {
    const CommitProof proof = prove(transaction, committed.branches(), committed.last->number, 0, key_of_id(id));
    const auto expected = committed.documents.find(id);
    CHECK(proof.hash.has_value() == (expected != committed.documents.end()));
    CHECK(proof.has_document == proof.hash.has_value());
    if (proof.hash && expected != committed.documents.end()) {
      CHECK(*proof.hash == sha256(expected->second));
      CHECK(proof.bytes.ends_with(expected->second));
    }
    longest = std::max(longest, proof.bytes.size());
  }
  CHECK(longest < 3072);
  // The first commit's id says nothing of documents, so a proof from it is refused.
  CHECK_THROWS_AS(prove(transaction, committed.branches(), 1, 0, key_of_id(1)), base::OperationError);
}

TEST_CASE("equal documents have equal roots, whatever their history and their server") {
  Committed one(50);
  storage::TemporaryDirectory directory;
  Repository other(directory.path(), Layout::tuple_first);
  Hash root{};
  storage::in_transaction(other.disk, [&](Transaction& transaction) {
    other.branches->create(transaction, "dev", "main");
    for (auto at = one.documents.rbegin(); at != one.documents.rend(); ++at) {
      other.put(transaction, "dev", document(at->first, 1000, 1));
      other.branches->commit(transaction, "dev", {});
      other.put(transaction, "dev", at->second);
    }
    root = other.branches->commit(transaction, "dev", {})->collections[0].digest;
  });
  CHECK(root == one.last->collections[0].digest);
  CHECK(root == root_of(one.documents));
}

TEST_CASE("what is whole is verified, and what of a commit is damaged is named") {
  const TreeKind tree = GENERATE(from_range(std::begin(all_trees), std::end(all_trees)));
  Committed committed(200, tree);
  {
    const Verification whole = committed.verify(true);
    CHECK(whole.damaged == 0);
    CHECK(whole.collections[0].documents == committed.documents.size());
    CHECK(whole.collections[0].nodes > 5);
    CHECK(committed.verify(false).collections[0].nodes == 1);
  }
  storage::Engine& engine = committed.repository.disk.engine();
  const auto found = [&](const Verification& verification, const char* what) {
    CHECK(verification.damaged == 1);
    INFO(what);
    return verification.damage.empty() ? Damage{.what = "nothing"} : verification.damage[0];
  };
  // Flips each bit of these rows, one after the other.
  const auto flip_each = [&](const std::string& table_name, const Bytes& key, const auto& check) {
    const storage::Table table(table_name);
    Bytes row;
    {
      Transaction transaction(engine, Transaction::Mode::read);
      row = table.get(transaction, key).value();
    }
    for (size_t bit = 0; bit < row.size() * 8; bit += bit < 128 ? 1 : 7) {
      Bytes damaged = row;
      damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
      storage::in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, key, damaged); });
      INFO(table_name << ", bit " << bit);
      check();
    }
    storage::in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, key, row); });
  };
  Bytes number;
  base::append_be64(number, committed.last->number);
  const auto tables = committed.branches().graph().table_names();
  flip_each(tables[0], number, [&] { CHECK(committed.verify(true).damaged > 0); });
  flip_each(tables[1], Bytes(view(committed.last->id)), [&] { CHECK(committed.verify(false).damaged > 0); });

  // A damaged leaf is reported once, by its hash.
  Hash leaf{};
  {
    Transaction transaction(engine, Transaction::Mode::read);
    merkle::NodeCache cache(1 << 20);
    const auto nodes = committed.branches().roots().nodes(transaction, cache);
    for (leaf = committed.last->collections[0].digest;;) {
      const std::vector<Hash> children = merkle::children_of(*nodes->get(leaf));
      if (children.empty()) break;
      leaf = children[children.size() / 2];
    }
    REQUIRE(leaf != committed.last->collections[0].digest);
  }
  flip_each(committed.branches().roots().table_name(), Bytes(view(leaf)), [&] {
    const Damage damage = found(committed.verify(true), "a node");
    CHECK(damage.node == leaf);
    CHECK(damage.collection == 0);
    CHECK(committed.verify(false).damaged == 0);  // it is not read
  });

  // These documents get another content, and none.
  for (const int id : {6, 25, 100}) {
    const Bytes key = key_of_id(id);
    storage::RecordStore& records = committed.repository.collection->records();
    const auto in = [&](Transaction& transaction) {
      return committed.repository.store().find(transaction, committed.repository.view(transaction, "main"), key);
    };
    storage::in_transaction(engine, [&](Transaction& transaction) {
      records.update(transaction, in(transaction), document(id, 666, 0), transaction.next_stamp());
    });
    CHECK(found(committed.verify(true), "another document").key == key);
    storage::in_transaction(engine, [&](Transaction& transaction) {
      records.update(transaction, in(transaction), committed.documents[id], transaction.next_stamp());
    });
    CHECK(committed.verify(true).damaged == 0);
  }
  storage::in_transaction(engine, [&](Transaction& transaction) {
    const RecordId record =
        committed.repository.store().find(transaction, committed.repository.view(transaction, "main"), key_of_id(30));
    committed.repository.collection->records().remove(transaction, record);
  });
  CHECK(found(committed.verify(true), "a missing document").key == key_of_id(30));
}

TEST_CASE("leaves are not read to find nodes that nobody has") {
  const TreeKind tree = GENERATE(from_range(std::begin(all_trees), std::end(all_trees)));
  Committed committed(200, tree);
  storage::Engine& engine = committed.repository.disk.engine();
  const auto read = std::make_shared<merkle::NodeCache>(16 << 20);  // it holds whatever is read
  const Roots roots(engine, 1, read);
  storage::in_transaction(engine, [&](Transaction& transaction) {
    roots.free(transaction, committed.branches().graph().roots(transaction), 1000, {});
  });
  Transaction transaction(engine, Transaction::Mode::read);
  merkle::NodeCache cache(16 << 20);
  const auto nodes = roots.nodes(transaction, cache);
  size_t leaves = 0, wrong = 0;
  merkle::for_each_node(*nodes, committed.last->collections[0].digest, [&](const merkle::Node& node) {
    const bool is_leaf = merkle::children_of(node).empty();
    leaves += is_leaf;
    wrong += static_cast<bool>(read->get(node.hash())) == is_leaf;
    return true;
  });
  CHECK(leaves > 5);
  CHECK(wrong == 0);
}

TEST_CASE("purged documents stay in the trees of commits that showed them, and leave with the next that changes the collection") {
  Committed committed;
  const CommitNumber before = committed.last->number;
  storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
    committed.branches().create(transaction, "dev", "main");
    committed.branches().purge(transaction, 0, key_of_id(25), {});
    committed.branches().purge(transaction, 0, key_of_id(26), {});
    committed.documents.erase(25);
    committed.documents.erase(26);
  });
  {
    Transaction transaction(committed.repository.disk, Transaction::Mode::read);
    const CommitProof proof = prove(transaction, committed.branches(), before, 0, key_of_id(25));
    CHECK(proof.hash == sha256(document(25, 7, 7)));
    CHECK_FALSE(proof.has_document);
    const Verification verification = committed.verify(true);
    CHECK(verification.damaged == 0);
    CHECK(verification.collections[0].purged == 2);
  }
  storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
    committed.put(transaction, document(26, 1, 1));  // comes again
    committed.put(transaction, document(300, 1, 1));
    committed.commit(transaction);
  });
  CHECK(committed.last->collections[0].digest == root_of(committed.documents));
  CHECK(committed.verify(true).collections[0].purged == 0);
  CHECK(committed.verify(true).damaged == 0);
  // A merge of a branch that hasn't seen the purge doesn't restore the document.
  storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
    committed.repository.put(transaction, "dev", document(400, 1, 1));
    const auto dev = committed.branches().commit(transaction, "dev", {});
    const Merged merged = committed.branches().merge(transaction, "main", dev->number, fields(Prefer::ours), {});
    REQUIRE(merged.commit);
    committed.last = merged.commit;
  });
  committed.documents[400] = document(400, 1, 1);
  CHECK(committed.last->collections[0].digest == root_of(committed.documents));
  CHECK(committed.verify(true).damaged == 0);
}

TEST_CASE("a collection's trees become another kind with the next commit that changes it, on each branch, and say the same") {
  Committed committed;
  for (const TreeKind& kind :
       {all_trees[2], all_trees[1], TreeKind{.structure = merkle::Structure::bucket_tree, .buckets = 7}, all_trees[0]}) {
    const Hash before = committed.last->collections[0].digest;
    committed.tree = kind;
    // Nothing was written, so there is nothing to commit.
    CHECK_FALSE(storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
      return committed.branches().commit(transaction, "main", committed.info());
    }));
    storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
      committed.put(transaction, document(500, static_cast<int>(committed.time_ms), 0));
      committed.commit(transaction);
    });
    const Hash root = committed.last->collections[0].digest;
    CHECK(root == root_of(committed.documents, kind));
    Transaction transaction(committed.repository.disk, Transaction::Mode::read);
    CHECK(committed.branches().roots().kind(transaction, root) == kind);
    std::set<Bytes> changed;
    committed.branches().roots().diff(transaction, before, root, [&](BytesView key, const std::optional<Hash>& hash) {
      CHECK(changed.emplace(key).second);
      CHECK(hash == sha256(committed.documents[500]));
      return true;
    });
    CHECK(changed == std::set{key_of_id(500)});
    CHECK(prove(transaction, committed.branches(), committed.last->number, 0, key_of_id(500)).hash ==
          sha256(committed.documents[500]));
    CHECK(committed.verify(true).damaged == 0);
  }
}

TEST_CASE("a comparison of two trees that stops has read no more than the nodes on its way, whatever the trees' kinds") {
  for (const TreeKind& before : all_trees) {
    for (const TreeKind& after : all_trees) {
      Committed committed(2000, before);
      const Hash a = committed.last->collections[0].digest;
      committed.tree = after;
      std::set<Bytes> changed;
      storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
        for (int id = 20; id < 2020; ++id) {
          committed.put(transaction, document(id, 8, 8));
          changed.insert(key_of_id(id));
        }
        for (int id = 3000; id < 3100; ++id) {
          committed.put(transaction, document(id, 8, 8));
          changed.insert(key_of_id(id));
        }
        committed.commit(transaction);
      });
      const Hash b = committed.last->collections[0].digest;
      storage::Engine& engine = committed.repository.disk.engine();
      const auto bytes_read = [&](size_t keys_max) {
        const auto read = std::make_shared<merkle::NodeCache>(16 << 20);  // it holds whatever is read
        const Roots roots(engine, 1, read);
        Transaction transaction(engine, Transaction::Mode::read);
        std::set<Bytes> keys;
        roots.diff(transaction, a, b, [&](BytesView key, const std::optional<Hash>&) {
          CHECK(keys.emplace(key).second);
          return keys.size() < keys_max;
        });
        CHECK((keys == changed || keys.size() == keys_max));
        return read->bytes();
      };
      CHECK(5 * bytes_read(1) < bytes_read(SIZE_MAX));
    }
  }
}

TEST_CASE("branches whose trees are of two kinds merge, in the kind that the collection has by then") {
  for (const TreeKind& ours : all_trees) {
    for (const TreeKind& theirs : all_trees) {
      Committed committed(60, ours);
      storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
        committed.branches().create(transaction, "dev", "main");
        for (int id = 200; id < 240; ++id) {
          committed.repository.put(transaction, "dev", document(id, 1, 1));
          committed.documents[id] = document(id, 1, 1);
        }
        committed.repository.remove(transaction, "dev", 5);
        committed.documents.erase(5);
        committed.tree = theirs;
        const auto dev = committed.branches().commit(transaction, "dev", committed.info());
        CHECK(dev->collections[0].digest == root_of(committed.documents, theirs));
        committed.tree = ours;
        committed.put(transaction, document(7, 9, 9));
        committed.commit(transaction);
        committed.tree = all_trees[1];
        const Merged merged =
            committed.branches().merge(transaction, "main", dev->number, fields(Prefer::ours), committed.info());
        REQUIRE(merged.commit);
        CHECK(merged.commit->collections[0].digest == root_of(committed.documents, all_trees[1]));
      });
      uint64_t freed = 0;
      storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
        while (committed.branches().sweep(transaction, {.newest = 1}, 100, {}).commits > 0) {
        }
        while (const uint64_t some = committed.branches().free_nodes(transaction, {})) freed += some;
      });
      CHECK(freed > 0);
      committed.last = storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) {
        Branches& branches = committed.branches();
        return branches.graph().commit(transaction, branches.head(transaction, "main").head);
      });
      CHECK(committed.verify(true).damaged == 0);
    }
  }
}

TEST_CASE(
    "the tree of what was there before the first branch is made in parts, and the commit behind it says it though nothing was "
    "written") {
  for (const Layout layout : all_layouts) {
    for (const TreeKind& tree : all_trees) {
      storage::TemporaryDirectory directory;
      Repository repository(directory.path(), layout, 12);
      Documents documents;
      for (int id = 1; id <= 12; ++id) documents[id] = document(id, 0, 0);
      const CommitInfo info{.time_ms = 5, .trees = {{"things", tree}}};
      Branches& branches = *repository.branches;
      size_t parts = 0;
      const auto prepare = [&](bool to_the_end) {
        while (storage::in_transaction(repository.disk, [&](Transaction& transaction) {
          auto part = branches.next_part(transaction, "main", info);
          if (!part) return false;
          part->documents_max = 5;
          branches.make_part(transaction, *part);
          ++parts;
          return to_the_end;
        })) {
        }
      };
      prepare(false);
      // Nodes of a tree that is being made are in use.
      storage::in_transaction(repository.disk, [&](Transaction& transaction) { branches.free_nodes(transaction, {}); });
      prepare(true);
      CHECK(parts == 3);
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        const auto commit = branches.commit(transaction, "main", info);
        REQUIRE(commit);
        CHECK(commit->collections[0].digest == root_of(documents, tree));
        CHECK(repository.read(transaction, branches.view(transaction, commit->number, 0)) == documents);
        CHECK_FALSE(branches.commit(transaction, "main", info));
      });
    }
  }
}

TEST_CASE("the trees that a merge, a pick or a revert begins with are made before it, in parts") {
  using MergeKind = Branches::MergeKind;
  for (const MergeKind kind : {MergeKind::merge, MergeKind::cherry_pick, MergeKind::revert}) {
    for (const TreeKind& tree : all_trees) {
      storage::TemporaryDirectory directory;
      Repository repository(directory.path(), Layout::hybrid, 12);
      Branches& branches = *repository.branches;
      Documents documents;
      for (int id = 1; id <= 12; ++id) documents[id] = document(id, 0, 0);
      documents[3] = document(3, 9, 9);
      const CommitInfo info{.time_ms = 5, .trees = {{"things", tree}}};
      CommitNumber first = 0, dev = 0;
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        first = branches.head(transaction, "main").head;
        branches.create(transaction, "dev", "main");
        repository.put(transaction, "dev", documents[3]);
        dev = branches.commit(transaction, "dev", {})->number;
        // A purge removes the trees that were made before it in the same way.
        branches.graph().remove_made_roots(transaction, repository.collection->id());
      });
      const std::string into = kind == MergeKind::revert ? "dev" : "main";
      if (kind == MergeKind::revert) documents[3] = document(3, 0, 0);
      size_t parts = 0;
      for (bool more = true; more;) {
        more = storage::in_transaction(repository.disk, [&](Transaction& transaction) {
          auto part = branches.next_part(transaction, kind, branches.head(transaction, into).head, dev, info);
          if (!part) return false;
          part->documents_max = 5;
          branches.make_part(transaction, *part);
          ++parts;
          return true;
        });
      }
      // The first commit's tree, and for a branch that has had another kind of tree, that tree too.
      CHECK(parts == (kind == MergeKind::revert && tree != TreeKind() ? 6 : 3));
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        const auto made = branches.graph().made_root(transaction, repository.collection->id(), first);
        REQUIRE(made);
        CHECK(made->reached.empty());
        const Merged merged = branches.apply(transaction, kind, into, dev, fields(Prefer::theirs), info);
        REQUIRE(merged.commit);
        CHECK(merged.commit->collections[0].digest == root_of(documents, tree));
        CHECK(branches.graph().made_root(transaction, repository.collection->id(), first)->root == made->root);
        CHECK_FALSE(branches.next_part(transaction, MergeKind::merge, branches.head(transaction, into).head, dev, info));
      });
    }
  }
}

TEST_CASE("a trie refuses the commit of a document whose _id is too long for it, and another tree takes it") {
  Committed committed(10, all_trees[1]);
  bson::Builder builder;
  builder.append("_id", std::string(2000, 'x'));
  const Bytes document = builder.done().bytes();
  storage::in_transaction(committed.repository.disk,
                          [&](Transaction& transaction) { committed.repository.put(transaction, "main", document); });
  const auto commit = [&] {
    storage::in_transaction(committed.repository.disk, [&](Transaction& transaction) { committed.commit(transaction); });
  };
  CHECK_THROWS_AS(commit(), base::OperationError);
  committed.tree = {};
  commit();
  CHECK(committed.last->parents.size() == 1);
}

TEST_CASE("a collection's options say which trees its commits have") {
  const auto read = [](const char* text) { return tree_kind_of(bson::json(text)); };
  CHECK(read("{}") == TreeKind());
  CHECK(read("{commits: {}}") == TreeKind());
  CHECK(read("{commits: {tree: 'posTree'}}") == TreeKind());
  CHECK(read("{commits: {tree: 'patriciaTrie'}}") == TreeKind{.structure = merkle::Structure::patricia_trie});
  CHECK(read("{commits: {tree: 'bucketTree'}}") == TreeKind{.structure = merkle::Structure::bucket_tree, .buckets = 10'000});
  CHECK(read("{commits: {tree: 'bucketTree', buckets: 3}}").buckets == 3);
  for (const char* wrong : {"{commits: {tree: 'mvmbTree'}}", "{commits: {tree: 'tree'}}", "{commits: {buckets: 5}}",
                            "{commits: {tree: 'bucketTree', buckets: 0}}", "{commits: {tree: 'bucketTree', buckets: 1000001}}"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read(wrong), base::OperationError);
  }
  for (const char* text : {"{tree: 'posTree'}", "{tree: 'patriciaTrie'}", "{tree: 'bucketTree', buckets: 17}"}) {
    bson::Builder written;
    append(written, read_tree_kind(bson::json(text)));
    CHECK(bson::to_json(written.done()) == bson::to_json(bson::json(text)));
  }
}
