// A snapshot page table has, for each row that was written since a snapshot, the content that it had then (Retro §4.5, Skippy
// §3).
//
// Rows lie in pages of 64. A page keeps the contents of its written rows one behind the other, in room for 1 or 8 of them; if
// there are more, it has a place for each row. So a table of rows that are far apart is small, and one of rows side by side is
// quick to fill.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "versions/past/row_page.h"

namespace versions::past {

// Not thread-safe while it takes mappings; after that const calls are.
class PageTable {
 public:
  // Takes mappings in the order of the log: the first one of each row counts. Returns how many rows were new.
  size_t take(std::span<const Mapping> mappings);
  size_t take(const MappingRun& run);
  size_t take(const PageTable& later);
  // nullopt: the row has no mapping, so it is as it was, if it existed.
  std::optional<Stamp> find(RecordId row) const {
    const Page* const page = known(RowPage::number_of(row));
    const unsigned place = RowPage::place_of(row);
    if (!page || !(page->rows >> place & 1)) return std::nullopt;
    return contents_[page->at + page->slot(place)];
  }
  std::vector<Mapping> in_order() const;  // by rows
  // Calls `visit(number, rows, contents)` for each page, in the order of rows; `contents` has those of `rows`, in the same order.
  template <class Visit>
  void each_page(Visit&& visit) const {
    std::array<Stamp, RowPage::rows_max> contents;
    for (const Page* page : pages_in_order()) {
      size_t count = 0;
      each_place(page->rows, [&](unsigned place) { contents[count++] = contents_[page->at + page->slot(place)]; });
      visit(page->number, page->rows, std::span<const Stamp>(contents.data(), count));
    }
  }

  // Returns the places of all pages in the order of their rows, for a PageTableWalk. They hold until the table takes more.
  std::vector<uint32_t> order() const;

  size_t size() const { return size_; }
  size_t pages() const { return pages_.size(); }
  size_t memory_bytes() const;

 private:
  friend class PageTableWalk;
  static constexpr unsigned rooms = 3;  // for 1, 8 and 64 contents
  struct Page {
    uint64_t number, rows = 0;
    uint64_t at : 62 = 0;  // the place in contents_
    uint64_t room : 2 = 0;

    size_t slot(unsigned place) const { return room == rooms - 1 ? place : RowPage::rank(rows, place); }
  };

  // Hashes by the highest bits: numbers that follow each other get places of their own.
  size_t home(uint64_t number) const { return number * 0x9e3779b97f4a7c15ull >> directory_shift_; }
  // nullptr: the table has no such page.
  const Page* known(uint64_t number) const {
    if (directory_.empty()) return nullptr;
    for (size_t place = home(number); directory_[place] != 0; place = (place + 1) & (directory_.size() - 1)) {
      const Page& page = pages_[directory_[place] - 1];
      if (page.number == number) return &page;
    }
    return nullptr;
  }
  size_t place(uint64_t number);  // the place in pages_; adds the page if it is new
  std::vector<const Page*> pages_in_order() const;
  void enter(size_t page);
  void grow_directory();
  size_t allocate(unsigned room);
  void release(unsigned room, size_t at);
  // Adds rows that the page doesn't have yet. `content(place)` returns the content of each.
  template <class Content>
  void add(Page& page, uint64_t rows, Content&& content);

  std::vector<Page> pages_;          // in the order in which they came
  std::vector<uint32_t> directory_;  // a power of two, half of it free: the place in pages_ plus one; 0: free
  unsigned directory_shift_ = 64;
  std::vector<Stamp> contents_;
  // The place that was left last, plus one; that place names the one left before. 0: there is none.
  std::array<size_t, rooms> released_{};
  size_t size_ = 0;
};

// Walks over a table's rows in their order, or backwards, and begins on the first. Borrows the table and its order.
class PageTableWalk {
 public:
  PageTableWalk(const PageTable& table, const std::vector<uint32_t>& order, bool forward)
      : table_(table), order_(order), forward_(forward) {
    step();
  }
  // nullopt: it is at the end.
  const std::optional<Mapping>& at() const { return at_; }
  void step();
  // Stands on the next row behind this one, in the walk's direction.
  void seek_after(RecordId row);

 private:
  const PageTable::Page& page(size_t i) const { return table_.pages_[order_[forward_ ? i : order_.size() - 1 - i]]; }

  const PageTable& table_;
  const std::vector<uint32_t>& order_;
  const bool forward_;
  size_t passed_ = 0;   // how many pages it has begun; it is in the last of them
  uint64_t later_ = 0;  // rows of that page which it hasn't reached
  std::optional<Mapping> at_;
};

}  // namespace versions::past
