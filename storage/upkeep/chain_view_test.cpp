// These tests compare views of chains with what reads and checks find.
#include "storage/upkeep/chain_view.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

// The revisions are of a few texts; some are updated and deleted later.
struct Wiki {
  explicit Wiki(uint64_t seed) : random(seed), store(test_options(directory.path())) {
    collection = store.catalog().open_or_create("wiki.pages");
  }

  void revise(int count, size_t pages) {
    texts.resize(std::max(texts.size(), pages));
    for (int i = 0; i < count; ++i) {
      std::string& text = texts[random.below(pages)];
      if (text.empty()) text = words(random, 2500);
      text.replace(random.below(text.size()), random.below(40), words(random, 30));
      write(next_id, text);
      documents[last] = document(next_id++, text);
    }
  }
  void write(int64_t id, const std::string& text) {
    last = in_transaction(store, [&](Transaction& t) { return collection->insert(t, document(id, text)).id; });
  }
  void remove(RecordId id) {
    in_transaction(store, [&](Transaction& t) { collection->remove(t, id, documents[id]); });
    documents.erase(id);
  }
  void update(RecordId id) {
    const std::string text = words(random, 300);
    const auto after = document(documents[id]["_id"].to_int64(), text);
    in_transaction(store, [&](Transaction& t) { collection->update(t, id, documents[id], after); });
    documents[id] = after;
  }
  const ChainStore& record_store() const { return collection->records().state().chains; }

  TemporaryDirectory directory;
  base::Random random;
  Store store;
  std::shared_ptr<Collection> collection;
  std::vector<std::string> texts;
  std::map<RecordId, bson::Document> documents;
  int64_t next_id = 1;
  RecordId last = 0;
};

// Every view agrees with the counts of reads, and all chains together agree with the counts of a full check.
void check_views(Wiki& wiki) {
  Transaction transaction(wiki.store, Transaction::Mode::read);
  const StoreCounts counts = check_chains(wiki.record_store(), transaction, true).counts;
  std::map<RecordId, ChainView> chains;
  for (const auto& [record, document] : wiki.documents) {
    const auto view = view_chain(*wiki.collection, transaction, record);
    REQUIRE(view);
    const ChainNode& node = view->nodes.at(view->asked);
    REQUIRE(node.key.content.record == record);
    REQUIRE_FALSE(node.retained);
    REQUIRE(node.content_bytes == document.bytes().size());
    ReadInfo info;
    REQUIRE(wiki.collection->find(transaction, record, &info));
    REQUIRE(node.hops == info.hops);
    REQUIRE(read_node(*wiki.collection, transaction, node) == document.bytes());
    for (size_t i = 0; i < view->nodes.size(); ++i) {
      const ChainNode& one = view->nodes[i];
      REQUIRE(one.position == view->nodes.size() - 1 - i);
      REQUIRE(one.base.has_value() == (one.form == ChainNode::Form::delta));
      REQUIRE(one.hops <= view->hops_max);
      if (i > 0) REQUIRE(view->nodes[i - 1].key > one.key);
      if (one.base) REQUIRE(one.base->content > one.key.content);
    }
    chains.emplace(view->chain, *view);
  }
  int64_t rows = 0, row_bytes = 0, retained = 0;
  for (const auto& [id, view] : chains) {
    for (const ChainNode& node : view.nodes) {
      if (node.form == ChainNode::Form::head) continue;
      ++rows;
      row_bytes += static_cast<int64_t>(node.stored_bytes);
      retained += node.retained;
    }
  }
  CHECK(rows == counts.chain_rows);
  CHECK(row_bytes == counts.chain_bytes);
  CHECK(retained == counts.dead);
}

}  // namespace

TEST_CASE("a chain is shown as reads and checks find it") {
  for (const uint64_t seed : {1, 2, 3}) {
    Wiki wiki(seed);
    wiki.revise(150, 4);
    wiki.store.dedup().drain();
    check_views(wiki);
    for (int i = 0; i < 20; ++i) {
      auto at = wiki.documents.lower_bound(static_cast<RecordId>(1 + wiki.random.below(140)));
      if (at == wiki.documents.end()) continue;
      if (i % 2) {
        wiki.remove(at->first);
      } else {
        wiki.update(at->first);
      }
    }
    wiki.store.dedup().drain();
    check_views(wiki);
  }
}

TEST_CASE("a long chain has one head, hop bases, and few hops") {
  Wiki wiki(5);
  wiki.revise(200, 1);
  wiki.store.dedup().drain();
  Transaction transaction(wiki.store, Transaction::Mode::read);
  const auto view = view_chain(*wiki.collection, transaction, wiki.documents.begin()->first);
  REQUIRE(view);
  CHECK(view->nodes.size() > 150);
  CHECK(view->heads == 1);
  CHECK(view->nodes.front().form == ChainNode::Form::head);
  CHECK(view->nodes.front().hops == 0);
  CHECK(view->nodes.front().ordinal.has_value());
  CHECK(view->hop_bases >= view->nodes.size() / 20);
  CHECK(view->hops_max < 100);
  CHECK(view->stored_bytes * 5 < view->content_bytes);
}

TEST_CASE("a document like no other is a chain of one, and what isn't there has none") {
  Wiki wiki(6);
  wiki.revise(1, 1);
  wiki.store.dedup().drain();
  Transaction transaction(wiki.store, Transaction::Mode::read);
  const auto view = view_chain(*wiki.collection, transaction, wiki.last);
  REQUIRE(view);
  CHECK(view->nodes.size() == 1);
  CHECK(view->nodes[0].form == ChainNode::Form::head);
  CHECK_FALSE(view->nodes[0].ordinal);
  CHECK_FALSE(view_chain(*wiki.collection, transaction, wiki.last + 1));
}

TEST_CASE("a look at a chain can be interrupted") {
  Wiki wiki(7);
  wiki.revise(600, 1);
  wiki.store.dedup().drain();
  Transaction transaction(wiki.store, Transaction::Mode::read);
  const auto stop = [] { throw base::OperationError(base::ErrorCode::interrupted, "stop"); };
  CHECK_THROWS_AS(view_chain(*wiki.collection, transaction, wiki.last, stop), base::OperationError);
}
