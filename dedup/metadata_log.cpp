#include "dedup/metadata_log.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "dedup/metadata_page.h"

namespace dedup {

namespace {

constexpr uint32_t slot_bits = 11;
constexpr uint32_t slots_max = 1u << slot_bits;
constexpr uint32_t pages_max = 1u << (32 - slot_bits);
constexpr size_t slot_memory_bytes = sizeof(std::optional<Metadata>) + 64;  // with its place in by_id

uint32_t page_of(MetadataPointer pointer) { return pointer >> slot_bits; }
uint32_t slot_of(MetadataPointer pointer) { return pointer & (slots_max - 1); }

}  // namespace

struct MetadataLog::State {
  struct Page {
    MetadataSlots slots;
    bool changed = false;
    uint64_t used_at = 0;
  };
  struct Summary {  // of every page, in memory or not
    uint32_t slots = 0;
    uint32_t live = 0;
    bool stored = false;
  };

  State(MetadataStore& s, size_t bytes) : store(s), cache_bytes_max(bytes) {}

  MetadataStore& store;
  const size_t cache_bytes_max;
  std::map<uint32_t, Summary> summaries;
  std::map<uint32_t, Page> pages;  // those in memory
  std::unordered_map<ContentId, MetadataPointer> by_id;  // of those
  uint32_t open = 0;               // page that is appended to; 0: none
  size_t open_bytes = 0;
  size_t memory_slots = 0;
  size_t live = 0;
  uint64_t ticks = 0;

  Page* load(uint32_t number) {
    if (auto page = pages.find(number); page != pages.end()) {
      page->second.used_at = ++ticks;
      return &page->second;
    }
    const auto summary = summaries.find(number);
    if (summary == summaries.end() || !summary->second.stored) return nullptr;
    const auto bytes = store.read_page(number);
    auto slots = bytes ? read_metadata_page(*bytes) : std::nullopt;
    if (!slots) {  // lost: forget what was in it
      live -= summary->second.live;
      summaries.erase(summary);
      return nullptr;
    }
    return &admit(number, std::move(*slots));
  }

  Page& admit(uint32_t number, MetadataSlots slots) {
    memory_slots += slots.size();
    for (uint32_t i = 0; i < slots.size(); ++i)
      if (slots[i]) by_id[slots[i]->id] = number << slot_bits | i;
    Page& page = pages[number];
    page.slots = std::move(slots);
    page.used_at = ++ticks;
    shrink(number);
    return page;
  }

  // Least recently used first; `keep` and the open page stay.
  void shrink(uint32_t keep) {
    while (memory_slots * slot_memory_bytes > cache_bytes_max) {
      auto oldest = pages.end();
      for (auto page = pages.begin(); page != pages.end(); ++page)
        if (page->first != keep && page->first != open && (oldest == pages.end() || page->second.used_at < oldest->second.used_at))
          oldest = page;
      if (oldest == pages.end()) return;
      const uint32_t number = oldest->first;
      if (summaries.at(number).live == 0) {
        erase(number);
      } else {
        write(number, oldest->second);
        leave(oldest);
      }
    }
  }

  void leave(std::map<uint32_t, Page>::iterator page) {
    memory_slots -= page->second.slots.size();
    for (const auto& slot : page->second.slots) {
      const auto entry = slot ? by_id.find(slot->id) : by_id.end();
      if (entry != by_id.end() && page_of(entry->second) == page->first) by_id.erase(entry);
    }
    pages.erase(page);
  }

  void write(uint32_t number, Page& page) {
    if (!page.changed) return;
    page.changed = false;
    Summary& summary = summaries[number];
    summary.stored = true;
    store.write_page(number, write_metadata_page(page.slots));
  }

  void erase(uint32_t number) {
    if (auto page = pages.find(number); page != pages.end()) leave(page);
    auto summary = summaries.find(number);
    if (summary->second.stored) store.erase_page(number);
    live -= summary->second.live;
    summaries.erase(summary);
    if (number == open) open = 0;
  }

  // Lowest free number above the newest page: pages stay in order of age.
  uint32_t new_page() {
    uint32_t number = summaries.empty() ? 1 : summaries.rbegin()->first + 1;
    if (number == pages_max)
      for (number = 1; summaries.count(number);) ++number;
    base::check(number < pages_max, "metadata log is full");
    summaries[number];
    return number;
  }

  std::optional<Metadata>* slot(MetadataPointer pointer) {
    Page* page = load(page_of(pointer));
    if (!page || slot_of(pointer) >= page->slots.size()) return nullptr;
    return &page->slots[slot_of(pointer)];
  }

  void lose_live(uint32_t number) {
    pages.at(number).changed = true;
    --summaries[number].live;
    --live;
  }
};

MetadataLog::MetadataLog(MetadataStore& store, size_t cache_bytes_max)
    : state_(std::make_unique<State>(store, cache_bytes_max)) {
  for (const uint32_t number : store.pages()) {
    const auto bytes = number && number < pages_max ? store.read_page(number) : std::nullopt;
    auto slots = bytes ? read_metadata_page(*bytes) : std::nullopt;
    if (!slots || slots->size() > slots_max) {
      store.erase_page(number);
      continue;
    }
    auto& summary = state_->summaries[number];
    summary.stored = true;
    summary.slots = static_cast<uint32_t>(slots->size());
    for (const auto& slot : *slots) summary.live += slot.has_value();
    state_->live += summary.live;
  }
}

MetadataLog::~MetadataLog() = default;

MetadataPointer MetadataLog::append(Metadata entry) {
  State& s = *state_;
  if (s.open && (s.open_bytes >= metadata_page_bytes || s.pages.at(s.open).slots.size() == slots_max)) s.open = 0;
  if (!s.open) {
    s.open = s.new_page();
    s.open_bytes = 0;
    s.admit(s.open, {});
  }
  State::Page& page = s.pages.at(s.open);
  s.open_bytes += metadata_entry_bytes(entry, page.slots.empty() || !page.slots.back() ? nullptr : &*page.slots.back());
  const MetadataPointer pointer = s.open << slot_bits | static_cast<uint32_t>(page.slots.size());
  s.by_id[entry.id] = pointer;
  page.slots.push_back(std::move(entry));
  page.changed = true;
  page.used_at = ++s.ticks;
  ++s.memory_slots;
  ++s.live;
  auto& summary = s.summaries[s.open];
  ++summary.slots;
  ++summary.live;
  s.shrink(s.open);
  return pointer;
}

Metadata* MetadataLog::find(MetadataPointer pointer) {
  auto* slot = state_->slot(pointer);
  return slot && *slot ? &**slot : nullptr;
}

void MetadataLog::supersede(MetadataPointer pointer, MetadataPointer next, uint32_t delta_bytes) {
  Metadata* entry = find(pointer);
  if (!entry) return;
  entry->next = next;
  entry->delta_bytes = delta_bytes;
  if (entry->superseded) return;
  entry->superseded = true;
  state_->lose_live(page_of(pointer));
}

void MetadataLog::drop(MetadataPointer pointer) {
  auto* slot = state_->slot(pointer);
  if (!slot || !*slot) return;
  const bool live = !(*slot)->superseded;
  if (const auto entry = state_->by_id.find((*slot)->id); entry != state_->by_id.end() && entry->second == pointer)
    state_->by_id.erase(entry);
  slot->reset();
  if (live) state_->lose_live(page_of(pointer));
}

std::optional<MetadataPointer> MetadataLog::find_cached(const ContentId& id) {
  const auto entry = state_->by_id.find(id);
  return entry == state_->by_id.end() ? std::nullopt : std::optional(entry->second);
}

void MetadataLog::drop_collection(uint32_t collection) {
  for (const uint32_t number : page_numbers())
    for (uint32_t i = 0, count = slots(number); i < count; ++i) {
      const MetadataPointer pointer = number << slot_bits | i;
      if (Metadata* entry = find(pointer); entry && entry->id.collection == collection) drop(pointer);
    }
}

void MetadataLog::clear() {
  for (const uint32_t number : page_numbers()) state_->erase(number);
}

std::vector<MetadataLog::Moved> MetadataLog::flush() {
  State& s = *state_;
  std::vector<Moved> moved;
  for (const uint32_t number : page_numbers()) {
    const auto summary = s.summaries.at(number);
    if (number == s.open || summary.live * 4 > summary.slots) continue;
    if (summary.live > 0) {
      s.load(number);
      for (uint32_t i = 0; i < summary.slots; ++i) {
        const MetadataPointer from = number << slot_bits | i;
        Metadata* entry = find(from);
        if (!entry || entry->superseded) continue;
        Metadata copy = *entry;
        const Features features = copy.features;
        moved.push_back({from, append(std::move(copy)), features});
      }
    }
    if (s.summaries.count(number)) s.erase(number);
  }
  for (auto& [number, page] : s.pages) s.write(number, page);
  return moved;
}

size_t MetadataLog::live() const { return state_->live; }
size_t MetadataLog::memory_bytes() const {
  return state_->memory_slots * slot_memory_bytes + state_->summaries.size() * (sizeof(State::Summary) + 48);
}

std::vector<uint32_t> MetadataLog::page_numbers() const {
  std::vector<uint32_t> numbers;
  for (const auto& [number, summary] : state_->summaries) numbers.push_back(number);
  return numbers;
}

uint32_t MetadataLog::slots(uint32_t page) {
  const auto summary = state_->summaries.find(page);
  return summary == state_->summaries.end() ? 0 : summary->second.slots;
}

}  // namespace dedup
