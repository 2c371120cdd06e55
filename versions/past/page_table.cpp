#include "versions/past/page_table.h"

#include <algorithm>

namespace versions::past {

size_t PageTable::place(uint64_t number) {
  if (const Page* const page = known(number)) return static_cast<size_t>(page - pages_.data());
  pages_.push_back({number});
  if (pages_.size() * 2 > directory_.size()) {
    grow_directory();
  } else {
    enter(pages_.size() - 1);
  }
  return pages_.size() - 1;
}

void PageTable::enter(size_t page) {
  size_t place = home(pages_[page].number);
  while (directory_[place] != 0) place = (place + 1) & (directory_.size() - 1);
  directory_[place] = static_cast<uint32_t>(page + 1);
}

void PageTable::grow_directory() {
  directory_.assign(std::max<size_t>(16, directory_.size() * 2), 0);
  directory_shift_ = static_cast<unsigned>(std::countl_zero(directory_.size())) + 1;
  for (size_t page = 0; page < pages_.size(); ++page) enter(page);
}

size_t PageTable::allocate(unsigned room) {
  if (released_[room] != 0) {
    const size_t at = released_[room] - 1;
    released_[room] = contents_[at];
    return at;
  }
  const size_t at = contents_.size();
  contents_.resize(at + (size_t{1} << (3 * room)));
  return at;
}

void PageTable::release(unsigned room, size_t at) {
  contents_[at] = released_[room];
  released_[room] = at + 1;
}

template <class Content>
void PageTable::add(Page& page, uint64_t rows, Content&& content) {
  const uint64_t before = page.rows, all = before | rows;
  const size_t old = page.at;
  const unsigned had = page.room;
  if (had < rooms - 1) {
    const unsigned count = bits_in(all);
    page.room = (count > 1) + (count > 8);
    if (before == 0 || had != page.room) page.at = allocate(page.room);
  }
  page.rows = all;
  size_ += bits_in(rows);
  Stamp* const to = contents_.data() + page.at;
  const Stamp* const from = contents_.data() + old;
  if (page.room == rooms - 1) {
    if (had != page.room) {
      size_t i = 0;
      each_place(before, [&](unsigned place) { to[place] = from[i++]; });
    }
    each_place(rows, [&](unsigned place) { to[place] = content(place); });
  } else {
    size_t count = bits_in(before);
    if (had != page.room) std::copy(from, from + count, to);
    uint64_t there = before;
    each_place(rows, [&](unsigned place) {
      const size_t rank = RowPage::rank(there, place);
      std::copy_backward(to + rank, to + count, to + count + 1);
      to[rank] = content(place);
      there |= uint64_t{1} << place;
      ++count;
    });
  }
  if (before != 0 && had != page.room) release(had, old);
}

size_t PageTable::take(std::span<const Mapping> mappings) {
  const size_t before = size_;
  for (const Mapping& mapping : mappings) {
    const uint64_t number = RowPage::number_of(mapping.row), row = uint64_t{1} << RowPage::place_of(mapping.row);
    const Page* const known = this->known(number);
    if (!known || !(known->rows & row)) add(pages_[place(number)], row, [&](unsigned) { return mapping.content; });
  }
  return size_ - before;
}

size_t PageTable::take(const MappingRun& run) {
  const size_t before = size_;
  take(run.mappings);
  for (const RowPage& source : run.pages) {
    Page& page = pages_[place(source.number)];
    const uint64_t fresh = source.rows & ~page.rows;
    if (fresh == 0) continue;
    const RowRanks ranks(source.rows);
    const char* const packed = run.from + source.packed;
    add(page, fresh, [&](unsigned place) { return source.contents.at(packed, ranks.of(place)); });
  }
  return size_ - before;
}

size_t PageTable::take(const PageTable& later) {
  const size_t before = size_;
  for (const Page& source : later.pages_) {
    Page& page = pages_[place(source.number)];
    if (const uint64_t fresh = source.rows & ~page.rows)
      add(page, fresh, [&](unsigned place) { return later.contents_[source.at + source.slot(place)]; });
  }
  return size_ - before;
}

std::vector<const PageTable::Page*> PageTable::pages_in_order() const {
  std::vector<const Page*> all;
  all.reserve(pages_.size());
  for (const Page& page : pages_) all.push_back(&page);
  const auto less = [](const Page* a, const Page* b) { return a->number < b->number; };
  if (!std::is_sorted(all.begin(), all.end(), less)) std::sort(all.begin(), all.end(), less);
  return all;
}

std::vector<Mapping> PageTable::in_order() const {
  std::vector<Mapping> all;
  all.reserve(size_);
  each_page([&](uint64_t number, uint64_t rows, std::span<const Stamp> contents) {
    size_t i = 0;
    each_place(rows, [&](unsigned place) { all.push_back({RowPage::row_of(number, place), contents[i++]}); });
  });
  return all;
}

std::vector<uint32_t> PageTable::order() const {
  std::vector<uint32_t> places;
  places.reserve(pages_.size());
  for (const Page* page : pages_in_order()) places.push_back(static_cast<uint32_t>(page - pages_.data()));
  return places;
}

void PageTableWalk::step() {
  while (later_ == 0) {
    if (passed_ == order_.size()) return at_.reset();
    later_ = page(passed_++).rows;
  }
  const PageTable::Page& in = page(passed_ - 1);
  const auto place = static_cast<unsigned>(forward_ ? std::countr_zero(later_) : 63 - std::countl_zero(later_));
  later_ ^= uint64_t{1} << place;
  at_ = {RowPage::row_of(in.number, place), table_.contents_[in.at + in.slot(place)]};
}

void PageTableWalk::seek_after(RecordId row) {
  const uint64_t number = RowPage::number_of(row), bit = uint64_t{1} << RowPage::place_of(row);
  size_t low = 0;
  for (size_t high = order_.size(); low < high;) {
    const size_t middle = low + (high - low) / 2;
    if (forward_ ? page(middle).number < number : page(middle).number > number)
      low = middle + 1;
    else
      high = middle;
  }
  passed_ = low;
  later_ = 0;
  if (low < order_.size() && page(low).number == number) {
    ++passed_;
    later_ = page(low).rows & (forward_ ? ~(bit | (bit - 1)) : bit - 1);
  }
  step();
}

size_t PageTable::memory_bytes() const {
  return sizeof *this + pages_.capacity() * sizeof(Page) + directory_.capacity() * sizeof(uint32_t) +
         contents_.capacity() * sizeof(Stamp);
}

}  // namespace versions::past
