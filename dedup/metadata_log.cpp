#include "dedup/metadata_log.h"

#include <algorithm>

#include "dedup/metadata_page.h"

namespace dedup {

namespace {

constexpr uint32_t slot_bits = 12;
constexpr uint32_t slots_max = 1u << slot_bits;
constexpr uint32_t pages_max = 1u << (32 - slot_bits);
static_assert(slots_max == metadata_slots_max);

uint32_t page_of(MetadataPointer pointer) {
  return pointer >> slot_bits;
}
uint32_t slot_of(MetadataPointer pointer) {
  return pointer & (slots_max - 1);
}

// A Slot is an entry without the parts that differ in length.
struct Slot {
  ContentId id;
  int64_t chain = 0;
  uint32_t ordinal = 0;
  uint32_t delta_bytes = 0;
  uint32_t features_at = 0, bases_at = 0;
  uint8_t features = 0, bases = 0;
  uint8_t demoted_below = 0;
  bool present : 1 = false;
  bool superseded : 1 = false;
  bool has_lineage : 1 = false;
};

struct Page {
  uint32_t number = 0;
  std::vector<Slot> slots;
  std::vector<uint32_t> features;
  std::vector<ContentId> bases;
  bool changed = false;
  uint64_t used_at = 0;

  size_t memory_bytes() const {
    return sizeof(Page) + slots.capacity() * (sizeof(Slot) + 6) + features.capacity() * sizeof features[0] +
           bases.capacity() * sizeof bases[0];
  }

  void push(const Metadata& entry) {
    Slot slot;
    slot.id = entry.id;
    slot.chain = entry.placement.chain;
    slot.ordinal = entry.placement.ordinal;
    slot.features_at = static_cast<uint32_t>(features.size());
    slot.bases_at = static_cast<uint32_t>(bases.size());
    slot.features = static_cast<uint8_t>(entry.features.size());
    slot.bases = static_cast<uint8_t>(entry.hop_bases.size());
    slot.demoted_below = entry.demoted_below;
    slot.delta_bytes = entry.delta_bytes;
    slot.present = true;
    slot.has_lineage = entry.has_lineage;
    features.insert(features.end(), entry.features.begin(), entry.features.end());
    bases.insert(bases.end(), entry.hop_bases.begin(), entry.hop_bases.end());
    slots.push_back(slot);
  }

  MetadataLog::Entry entry(const Slot& slot) const {
    return {slot.id,
            {slot.chain, slot.ordinal},
            std::span(features).subspan(slot.features_at, slot.features),
            std::span(bases).subspan(slot.bases_at, slot.bases),
            slot.has_lineage,
            slot.demoted_below,
            slot.superseded,
            slot.delta_bytes};
  }
};

// A hash table of pointers by the names that they lead to, with open addressing, 4 bytes a place.
class ByName {
 public:
  template <class NameOf>
  MetadataPointer find(const ContentId& id, NameOf name_of) const {
    if (places_.empty()) return 0;
    for (size_t at = home(id); places_[at]; at = after(at))
      if (name_of(places_[at]) == id) return places_[at];
    return 0;
  }
  template <class NameOf>
  void put(const ContentId& id, MetadataPointer pointer, NameOf name_of) {
    if ((count_ + 1) * 4 > places_.size() * 3) grow(name_of);
    size_t at = home(id);
    for (; places_[at]; at = after(at))
      if (name_of(places_[at]) == id) {
        places_[at] = pointer;
        return;
      }
    places_[at] = pointer;
    ++count_;
  }
  // Erases the name only if it leads to `pointer`.
  template <class NameOf>
  void erase(const ContentId& id, MetadataPointer pointer, NameOf name_of) {
    if (places_.empty()) return;
    size_t hole = home(id);
    for (; places_[hole] != pointer; hole = after(hole))
      if (!places_[hole]) return;
    --count_;
    // An entry behind the hole that could stand in it moves there.
    for (size_t at = after(hole); places_[at]; at = after(at)) {
      const size_t wanted = home(name_of(places_[at]));
      const bool stays = hole <= at ? wanted > hole && wanted <= at : wanted > hole || wanted <= at;
      if (stays) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = 0;
  }
  size_t memory_bytes() const { return places_.size() * sizeof places_[0]; }

 private:
  size_t home(const ContentId& id) const {
    return std::hash<ContentId>()(id) * 0x9e3779b97f4a7c15ull >> 32 & (places_.size() - 1);
  }
  size_t after(size_t at) const { return (at + 1) & (places_.size() - 1); }
  template <class NameOf>
  void grow(NameOf name_of) {
    std::vector<MetadataPointer> old(std::max<size_t>(64, places_.size() * 2));
    old.swap(places_);
    for (const MetadataPointer pointer : old) {
      if (!pointer) continue;
      size_t at = home(name_of(pointer));
      while (places_[at]) at = after(at);
      places_[at] = pointer;
    }
  }

  std::vector<MetadataPointer> places_;
  size_t count_ = 0;
};

}  // namespace

struct MetadataLog::State {
  struct Known {  // a page, in memory or not
    std::unique_ptr<Page> page;
    uint32_t slots = 0;
    uint32_t live = 0;
    bool exists = false;
    bool stored = false;
  };

  State(MetadataStore& s, size_t bytes) : store(s), cache_bytes_max(bytes) {}

  MetadataStore& store;
  size_t cache_bytes_max;
  std::vector<Known> pages;  // by number
  std::vector<Page*> in_memory;
  ByName by_name;     // of those
  uint32_t open = 0;  // the page that is appended to; 0: none
  size_t open_bytes = 0;
  size_t page_memory_bytes = 0;
  size_t live = 0;
  uint64_t ticks = 0;
  uint64_t pages_read = 0;

  auto name_of() {
    return
        [this](MetadataPointer pointer) -> const ContentId& { return pages[page_of(pointer)].page->slots[slot_of(pointer)].id; };
  }
  Known* known(uint32_t number) { return number < pages.size() && pages[number].exists ? &pages[number] : nullptr; }

  Page* load(uint32_t number) {
    Known* page = known(number);
    if (!page) return nullptr;
    if (!page->page) {
      ++pages_read;
      const auto bytes = store.read_page(number);
      auto slots = bytes ? read_metadata_page(*bytes) : std::nullopt;
      if (!slots || slots->size() > page->slots) {  // the page is lost: forget what was in it
        live -= page->live;
        pages[number] = {};
        return nullptr;
      }
      admit(number, *slots);
    }
    page->page->used_at = ++ticks;
    return page->page.get();
  }

  Page& admit(uint32_t number, const MetadataSlots& slots) {
    auto made = std::make_unique<Page>();
    made->number = number;
    made->slots.reserve(slots.size());
    for (const auto& slot : slots) {
      if (slot)
        made->push(*slot);
      else
        made->slots.emplace_back();
    }
    made->features.shrink_to_fit();
    made->bases.shrink_to_fit();
    made->used_at = ++ticks;
    Page& page = *made;
    pages[number].page = std::move(made);
    in_memory.push_back(&page);
    page_memory_bytes += page.memory_bytes();
    for (uint32_t i = 0; i < page.slots.size(); ++i)
      if (page.slots[i].present) by_name.put(page.slots[i].id, number << slot_bits | i, name_of());
    shrink(number);
    return page;
  }

  // Pages go least recently used first; `keep` and the open page stay.
  void shrink(uint32_t keep) {
    while (page_memory_bytes > cache_bytes_max) {
      Page* oldest = nullptr;
      for (Page* page : in_memory)
        if (page->number != keep && page->number != open && (!oldest || page->used_at < oldest->used_at)) oldest = page;
      if (!oldest) return;
      if (pages[oldest->number].live == 0) {
        erase(oldest->number);
      } else {
        write(*oldest);
        leave(*oldest);
      }
    }
  }

  void leave(Page& page) {
    for (uint32_t i = 0; i < page.slots.size(); ++i)
      if (page.slots[i].present) by_name.erase(page.slots[i].id, page.number << slot_bits | i, name_of());
    page_memory_bytes -= page.memory_bytes();
    in_memory.erase(std::find(in_memory.begin(), in_memory.end(), &page));
    pages[page.number].page.reset();
  }

  void write(Page& page) {
    if (!page.changed) return;
    page.changed = false;
    pages[page.number].stored = true;
    MetadataPageWriter writer(page.slots.size());
    for (const Slot& slot : page.slots) {
      if (!slot.present || slot.superseded) {
        writer.skip();
        continue;
      }
      const Entry entry = page.entry(slot);
      writer.add(entry.id, entry.placement, entry.has_lineage, entry.demoted_below, entry.delta_bytes, entry.features,
                 entry.hop_bases);
    }
    store.write_page(page.number, writer.finish());
  }

  void erase(uint32_t number) {
    Known& page = pages[number];
    if (page.page) leave(*page.page);
    if (page.stored) store.erase_page(number);
    live -= page.live;
    page = {};
    if (number == open) open = 0;
  }

  // Takes a number above the newest page, so that pages stay in order of age, or else the lowest free one.
  uint32_t new_page() {
    while (pages.size() > 1 && !pages.back().exists) pages.pop_back();
    uint32_t number = std::max<uint32_t>(1, static_cast<uint32_t>(pages.size()));
    if (number == pages_max)
      for (number = 1; number < pages_max && pages[number].exists;) ++number;
    base::check(number < pages_max, "metadata log is full");
    if (number >= pages.size()) pages.resize(number + 1);
    pages[number].exists = true;
    return number;
  }

  Slot* slot(MetadataPointer pointer) {
    Page* page = load(page_of(pointer));
    if (!page || slot_of(pointer) >= page->slots.size()) return nullptr;
    Slot& slot = page->slots[slot_of(pointer)];
    return slot.present ? &slot : nullptr;
  }

  void change_live(uint32_t number, int by) {
    pages[number].page->changed = true;
    pages[number].live = static_cast<uint32_t>(static_cast<int>(pages[number].live) + by);
    live = static_cast<size_t>(static_cast<int64_t>(live) + by);
  }
};

MetadataLog::MetadataLog(MetadataStore& store, size_t cache_bytes_max) : state_(std::make_unique<State>(store, cache_bytes_max)) {
  auto& s = *state_;
  for (const uint32_t number : store.pages()) {
    const auto bytes = number && number < pages_max ? store.read_page(number) : std::nullopt;
    const auto slots = bytes ? read_metadata_page(*bytes) : std::nullopt;
    if (!slots) {
      store.erase_page(number);
      continue;
    }
    if (number >= s.pages.size()) s.pages.resize(number + 1);
    auto& known = s.pages[number];
    known.exists = known.stored = true;
    known.slots = static_cast<uint32_t>(slots->size());
    for (const auto& slot : *slots) known.live += slot.has_value();
    s.live += known.live;
    s.admit(number, *slots);
  }
}

MetadataLog::~MetadataLog() = default;

MetadataPointer MetadataLog::append(const Metadata& entry) {
  State& s = *state_;
  if (s.open && (s.open_bytes >= metadata_page_bytes || s.pages[s.open].slots == slots_max)) {
    Page& full = *s.pages[s.open].page;
    s.page_memory_bytes -= full.memory_bytes();
    full.slots.shrink_to_fit();
    full.features.shrink_to_fit();
    full.bases.shrink_to_fit();
    s.page_memory_bytes += full.memory_bytes();
    s.open = 0;
  }
  if (!s.open) {
    s.open = s.new_page();
    s.open_bytes = 0;
    s.admit(s.open, {});
  }
  auto& known = s.pages[s.open];
  Page& page = *known.page;
  s.open_bytes += metadata_entry_bytes(entry.features.size(), entry.hop_bases.size());
  const MetadataPointer pointer = s.open << slot_bits | static_cast<uint32_t>(page.slots.size());
  s.page_memory_bytes -= page.memory_bytes();
  page.push(entry);
  s.page_memory_bytes += page.memory_bytes();
  page.changed = true;
  page.used_at = ++s.ticks;
  s.by_name.put(entry.id, pointer, s.name_of());
  ++s.live;
  ++known.slots;
  ++known.live;
  s.shrink(s.open);
  return pointer;
}

std::optional<MetadataLog::Entry> MetadataLog::find(MetadataPointer pointer) {
  const Slot* slot = state_->slot(pointer);
  return slot ? std::optional(state_->pages[page_of(pointer)].page->entry(*slot)) : std::nullopt;
}

void MetadataLog::prefetch(MetadataPointer pointer) const {
  const uint32_t number = page_of(pointer);
  if (number >= state_->pages.size() || !state_->pages[number].page) return;
  const auto& slots = state_->pages[number].page->slots;
  if (slot_of(pointer) < slots.size()) __builtin_prefetch(&slots[slot_of(pointer)]);
}

void MetadataLog::supersede(MetadataPointer pointer, uint32_t delta_bytes) {
  Slot* slot = state_->slot(pointer);
  if (!slot) return;
  slot->delta_bytes = delta_bytes;
  if (slot->superseded) return;
  slot->superseded = true;
  state_->change_live(page_of(pointer), -1);
}

void MetadataLog::set_delta_bytes(MetadataPointer pointer, uint32_t bytes) {
  Slot* slot = state_->slot(pointer);
  if (!slot || slot->delta_bytes == bytes) return;
  slot->delta_bytes = bytes;
  state_->pages[page_of(pointer)].page->changed = true;
}

void MetadataLog::thin(MetadataPointer pointer, uint32_t count) {
  Slot* slot = state_->slot(pointer);
  if (!slot || slot->features <= std::max(count, 1u)) return;
  slot->features = static_cast<uint8_t>(std::max(count, 1u));
  state_->pages[page_of(pointer)].page->changed = true;
}

void MetadataLog::set_demoted_below(MetadataPointer pointer, uint8_t depth) {
  Slot* slot = state_->slot(pointer);
  if (!slot || slot->demoted_below == depth) return;
  slot->demoted_below = depth;
  state_->pages[page_of(pointer)].page->changed = true;
}

void MetadataLog::drop(MetadataPointer pointer) {
  Slot* slot = state_->slot(pointer);
  if (!slot) return;
  state_->by_name.erase(slot->id, pointer, state_->name_of());
  slot->present = false;
  if (!slot->superseded) state_->change_live(page_of(pointer), -1);
}

std::optional<MetadataPointer> MetadataLog::find_cached(const ContentId& id) {
  const MetadataPointer pointer = state_->by_name.find(id, state_->name_of());
  return pointer ? std::optional(pointer) : std::nullopt;
}

void MetadataLog::drop_collection(uint32_t collection) {
  for (const uint32_t number : page_numbers())
    for (uint32_t i = 0, count = slots(number); i < count; ++i) {
      const MetadataPointer pointer = number << slot_bits | i;
      if (const Slot* slot = state_->slot(pointer); slot && slot->id.collection == collection) drop(pointer);
    }
}

void MetadataLog::clear() {
  for (const uint32_t number : page_numbers()) state_->erase(number);
}

std::vector<MetadataLog::Moved> MetadataLog::flush() {
  State& s = *state_;
  std::vector<Moved> moved;
  for (const uint32_t number : page_numbers()) {
    const uint32_t slots = s.pages[number].slots, live = s.pages[number].live;
    if (number == s.open || live * 4 > slots) continue;
    for (uint32_t i = 0; live > 0 && i < slots; ++i) {
      const MetadataPointer from = number << slot_bits | i;
      const auto entry = find(from);
      if (!entry || entry->superseded) continue;
      Metadata copy{entry->id,
                    entry->placement,
                    {},
                    entry->has_lineage,
                    entry->demoted_below,
                    entry->delta_bytes,
                    {entry->hop_bases.begin(), entry->hop_bases.end()}};
      for (const uint32_t feature : entry->features) copy.features.add(feature);
      moved.push_back({from, append(copy), copy.features});
    }
    if (s.known(number)) s.erase(number);
  }
  for (Page* page : s.in_memory) s.write(*page);
  return moved;
}

std::optional<MetadataPointer> MetadataLog::next(MetadataPointer pointer) {
  uint32_t slot = pointer ? slot_of(pointer) + 1 : 0;
  for (uint32_t number = std::max(page_of(pointer), 1u); number < state_->pages.size(); ++number, slot = 0) {
    if (!state_->known(number)) continue;
    for (const Page* page = state_->load(number); page && slot < page->slots.size(); ++slot)
      if (page->slots[slot].present) return number << slot_bits | slot;
  }
  return std::nullopt;
}

void MetadataLog::set_cache_bytes_max(size_t bytes) {
  state_->cache_bytes_max = bytes;
  state_->shrink(state_->open);
}

size_t MetadataLog::live() const {
  return state_->live;
}
size_t MetadataLog::memory_bytes() const {
  return state_->page_memory_bytes + state_->by_name.memory_bytes() + state_->pages.size() * sizeof(State::Known);
}
uint64_t MetadataLog::pages_read() const {
  return state_->pages_read;
}

std::vector<uint32_t> MetadataLog::page_numbers() const {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 1; number < state_->pages.size(); ++number)
    if (state_->pages[number].exists) numbers.push_back(number);
  return numbers;
}

uint32_t MetadataLog::slots(uint32_t page) const {
  const auto* known = state_->known(page);
  return known ? known->slots : 0;
}

}  // namespace dedup
