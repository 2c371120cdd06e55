#include "storage/format/page_compressor.h"

#include <wiredtiger.h>
#include <wiredtiger_ext.h>
#include <zstd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "base/log.h"
#include "storage/engine/directory.h"
#include "storage/engine/wt.h"
#include "storage/format/column_block.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

constexpr int log_unreadable = 22445;
constexpr int log_not_registered = 7200501;
constexpr int log_restored = 7200510;

constexpr const char* entries_compressor = "entries";
constexpr int level_entries = 3;

// Compression contexts are large, and any thread may write pages, so a few contexts serve all threads.
template <class Context, Context* (*create)(), size_t (*destroy)(Context*)>
class Contexts {
 public:
  class Lease {
   public:
    explicit Lease(Contexts& from) : from_(from), context_(from.take()) {}
    ~Lease() { from_.give(context_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Context* get() const { return context_; }

   private:
    Contexts& from_;
    Context* context_;
  };

 private:
  static constexpr size_t idle_max = 4;

  Context* take() {
    {
      const base::MutexLock lock(mutex_);
      if (!idle_.empty()) {
        Context* context = idle_.back();
        idle_.pop_back();
        return context;
      }
    }
    return create();
  }
  void give(Context* context) {
    {
      const base::MutexLock lock(mutex_);
      if (context && idle_.size() < idle_max) return idle_.push_back(context);
    }
    destroy(context);
  }

  base::Mutex mutex_;
  std::vector<Context*> idle_ GUARDED_BY(mutex_);
};

using Compressing = Contexts<ZSTD_CCtx, ZSTD_createCCtx, ZSTD_freeCCtx>;
using Decompressing = Contexts<ZSTD_DCtx, ZSTD_createDCtx, ZSTD_freeDCtx>;

struct FreeDictionary {
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};

// This struct holds the digested dictionaries of a collection. It never changes: another dictionary makes another set.
struct Digested {
  std::vector<Bytes> dictionaries;
  std::vector<std::unique_ptr<ZSTD_DDict, FreeDictionary>> reading;
  std::unique_ptr<ZSTD_CDict, FreeDictionary> fresh;  // it is made of the newest dictionary
};

std::shared_ptr<const Digested> digest(std::vector<Bytes> dictionaries) {
  auto made = std::make_shared<Digested>();
  made->dictionaries = std::move(dictionaries);
  for (const Bytes& one : made->dictionaries) made->reading.emplace_back(ZSTD_createDDict(one.data(), one.size()));
  if (!made->dictionaries.empty()) {
    const Bytes& newest = made->dictionaries.back();
    made->fresh.reset(ZSTD_createCDict(newest.data(), newest.size(), level_fresh));
  }
  return made;
}

thread_local PageCompressors* opening = nullptr;
thread_local const void* packing = nullptr;  // this thread packs the pages of this collection

}  // namespace

struct PageCompressors::Collection {
  // The member stands first, so that WiredTiger's pointer is the pointer to this struct.
  struct Compressor {
    WT_COMPRESSOR interface {};
    Collection* of = nullptr;
    bool settled = false;
  };

  CollectionId id = 0;
  Compressor fresh, settled;
  std::atomic<int> settled_level{level_settled};
  std::atomic<bool> columns{false};
  std::atomic<std::shared_ptr<const Digested>> digested{std::make_shared<const Digested>()};

  static int compress(WT_COMPRESSOR* self, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes,
                      size_t* made, int* failed);
  static int decompress(WT_COMPRESSOR* self, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes,
                        size_t* made);
};

namespace {

// They are there until the process ends, for a store that is closed among its last static objects.
Compressing& compressing() {
  static Compressing& contexts = *new Compressing;
  return contexts;
}
Decompressing& decompressing() {
  static Decompressing& contexts = *new Decompressing;
  return contexts;
}

}  // namespace

namespace {

// If there is too little room, the result reports to WiredTiger that the page isn't worth compressing.
int compressed(size_t bytes, size_t from_bytes, size_t* made, int* failed) {
  *failed = bytes == 0 || ZSTD_isError(bytes) || bytes >= from_bytes;
  if (!*failed) *made = bytes;
  return 0;
}

}  // namespace

int PageCompressors::Collection::compress(WT_COMPRESSOR* self, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to,
                                          size_t to_bytes, size_t* made, int* failed) {
  const auto* compressor = reinterpret_cast<Compressor*>(self);
  const Collection& collection = *compressor->of;
  const auto digested = collection.digested.load();
  const Compressing::Lease lease(storage::compressing());
  if (!lease.get()) return ENOMEM;
  size_t bytes = 0;
  if (compressor->settled || &collection == packing) {
    // The dictionary is digested for each page: a digest made once would have the parameters for a much shorter text.
    const BytesView dictionary = digested->dictionaries.empty() ? BytesView() : BytesView(digested->dictionaries.back());
    const int level = collection.settled_level.load(std::memory_order_relaxed);
    std::optional<PageColumns> columns;
    if (collection.columns.load(std::memory_order_relaxed))
      columns = split_page({reinterpret_cast<char*>(from), from_bytes}, PageKind::contents);
    bytes = columns ? write_column_block(lease.get(), *columns, dictionary, level, to, to_bytes)
                    : ZSTD_compress_usingDict(lease.get(), to, to_bytes, from, from_bytes, dictionary.data(), dictionary.size(),
                                              level);
  } else {
    bytes = digested->fresh ? ZSTD_compress_usingCDict(lease.get(), to, to_bytes, from, from_bytes, digested->fresh.get())
                            : ZSTD_compressCCtx(lease.get(), to, to_bytes, from, from_bytes, level_fresh);
  }
  return compressed(bytes, from_bytes, made, failed);
}

namespace {

// Turns a block of either form into the page that it was made of. Returns an empty string, or what is wrong with the block.
std::string read_block(BytesView block, const Digested& digested, uint8_t* to, size_t to_bytes, size_t* made) {
  ColumnBlock columns;
  const bool by_columns = is_column_block(block);
  if (by_columns) {
    auto parsed = parse_column_block(block);
    if (!parsed) return parsed.failure().message;
    columns = *parsed;
  }
  const BytesView named = by_columns ? columns.bodies : block;
  const unsigned number = ZSTD_getDictID_fromFrame(named.data(), named.size());
  if (number > digested.reading.size()) {
    return "it needs dictionary " + std::to_string(number) + ", and there are " + std::to_string(digested.reading.size());
  }
  const ZSTD_DDict* dictionary = number == 0 ? nullptr : digested.reading[number - 1].get();
  const Decompressing::Lease lease(storage::decompressing());
  if (!lease.get()) return "there is no memory";
  if (by_columns) {
    auto page = read_column_block(lease.get(), columns, dictionary, to_bytes);
    if (!page) return page.failure().message;
    std::copy(page->begin(), page->end(), to);
    *made = page->size();
    return {};
  }
  const size_t frame = ZSTD_findFrameCompressedSize(block.data(), block.size());  // blocks are rounded up
  if (ZSTD_isError(frame)) return "its bytes are not those that were written";
  const size_t bytes = dictionary ? ZSTD_decompress_usingDDict(lease.get(), to, to_bytes, block.data(), frame, dictionary)
                                  : ZSTD_decompressDCtx(lease.get(), to, to_bytes, block.data(), frame);
  if (ZSTD_isError(bytes)) return ZSTD_getErrorName(bytes);
  *made = bytes;
  return {};
}

// Returns the result for WiredTiger. A problem is logged, with the attributes `whose` that say whose page it is.
int result_of(const std::string& problem, base::Attributes whose) {
  if (problem.empty()) return 0;
  base::log(base::Severity::error, base::LogComponent::storage, log_unreadable, "A page can't be read",
            whose.add("error", problem));
  return WT_ERROR;
}

}  // namespace

int PageCompressors::Collection::decompress(WT_COMPRESSOR* self, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to,
                                            size_t to_bytes, size_t* made) {
  const Collection& collection = *reinterpret_cast<Compressor*>(self)->of;
  const auto digested = collection.digested.load();
  return result_of(read_block({reinterpret_cast<char*>(from), from_bytes}, *digested, to, to_bytes, made),
                   base::Attributes().add("collection", static_cast<int64_t>(collection.id)));
}

// This compressor is for pages of indexes: entries count up, and so do the records that they name.
struct PageCompressors::Entries {
  WT_COMPRESSOR interface {};

  static int compress(WT_COMPRESSOR*, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes, size_t* made,
                      int* failed) {
    const Compressing::Lease lease(storage::compressing());
    if (!lease.get()) return ENOMEM;
    const auto columns = split_page({reinterpret_cast<char*>(from), from_bytes}, PageKind::entries);
    return compressed(columns ? write_column_block(lease.get(), *columns, {}, level_entries, to, to_bytes)
                              : ZSTD_compressCCtx(lease.get(), to, to_bytes, from, from_bytes, level_entries),
                      from_bytes, made, failed);
  }
  static int decompress(WT_COMPRESSOR*, WT_SESSION*, uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes,
                        size_t* made) {
    return result_of(read_block({reinterpret_cast<char*>(from), from_bytes}, {}, to, to_bytes, made),
                     base::Attributes().add("of", "an index"));
  }
};

namespace {

const std::string file_prefix = "pages-";
const std::string file_suffix = ".dict", copy_suffix = "-copy.dict";
constexpr const char* table_prefixes[] = {"records-", "packed-", "heads-", "chains-"};
constexpr char table_suffix[] = ".wt";

std::optional<CollectionId> number_between(const std::string& name, const std::string& prefix, const std::string& suffix) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  return static_cast<CollectionId>(std::stoul(digits));
}

// Returns the collection whose table or file has this name.
std::optional<CollectionId> collection_of(const std::string& name) {
  for (const char* prefix : table_prefixes) {
    if (const auto id = number_between(name, prefix, table_suffix)) return id;
  }
  return std::nullopt;
}

std::string file_name(CollectionId id) {
  return file_prefix + std::to_string(id) + file_suffix;
}
std::string copy_name(CollectionId id) {
  return file_prefix + std::to_string(id) + copy_suffix;
}

}  // namespace

PageCompressors::PageCompressors(std::string directory, int settled_level, const base::Cipher* cipher)
    : directory_(std::move(directory)), settled_level_(settled_level), cipher_(cipher), entries_(std::make_unique<Entries>()) {
  entries_->interface.compress = Entries::compress;
  entries_->interface.decompress = Entries::decompress;
  std::set<CollectionId> tables, files;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    const std::string name = entry.path().filename();
    if (const auto id = collection_of(name)) tables.insert(*id);
    for (const std::string& suffix : {file_suffix, copy_suffix}) {
      if (const auto id = number_between(name, file_prefix, suffix)) files.insert(*id);
    }
  }
  for (const CollectionId id : tables) {
    make(id).digested = digest(load(id));
  }
  // Files that belong to dropped collections are removed.
  for (const CollectionId id : files) {
    std::error_code ignored;
    if (collections_.contains(id)) continue;
    fs::remove(path(id), ignored);
    fs::remove(directory_ + "/" + copy_name(id), ignored);
  }
}

base::Result<std::vector<Bytes>> PageCompressors::read(const std::string& file) const {
  std::ifstream in(directory_ + "/" + file, std::ios::binary);
  if (!in) return base::Failure{ErrorCode::data_corruption_detected, "it is missing or can't be read"};
  Bytes bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (cipher_) {
    auto plain = cipher_->open(bytes);
    if (!plain) return base::Failure{ErrorCode::data_corruption_detected, "it can't be decrypted"};
    bytes = *std::move(plain);
  }
  return read_dictionaries(bytes);
}

// Reads the dictionaries from their file or, if that is damaged, from its copy, and writes again what is missing.
std::vector<Bytes> PageCompressors::load(CollectionId id) const {
  auto own = read(file_name(id));
  auto copy = read(copy_name(id));
  if (!own && (!copy || own.failure().code != ErrorCode::data_corruption_detected)) {
    throw OperationError(own.failure().code, "the dictionaries of collection " + std::to_string(id) + " (" + path(id) +
                                                 "): " + own.failure().message + "; restore the file from a backup");
  }
  if (!own) {
    base::log(base::Severity::warning, base::LogComponent::storage, log_restored,
              "The file of a collection's dictionaries is damaged; it is written again from its copy",
              base::Attributes().add("file", file_name(id)).add("error", own.failure().message));
  }
  std::vector<Bytes>& sound = own ? own.value() : copy.value();
  if (!own || !copy || copy.value() != sound) write(id, write_dictionaries(sound));
  return std::move(sound);
}

void PageCompressors::write(CollectionId id, const std::string& text) const {
  const std::string bytes = cipher_ ? cipher_->seal(text) : text;
  write_file(directory_, copy_name(id), bytes);
  write_file(directory_, file_name(id), bytes);
}

PageCompressors::~PageCompressors() {
  if (opening == this) opening = nullptr;
}

std::string PageCompressors::path(CollectionId collection) const {
  return directory_ + "/" + file_name(collection);
}

std::string PageCompressors::registering() {
  opening = this;
  return "local={entry=palimpsest_register_compressors}";
}

PageCompressors::Collection& PageCompressors::make(CollectionId id) {
  auto& made = collections_[id];
  if (made) return *made;
  made = std::make_unique<Collection>();
  made->id = id;
  made->settled_level = settled_level_;
  for (auto* compressor : {&made->fresh, &made->settled}) {
    compressor->interface.compress = Collection::compress;
    compressor->interface.decompress = Collection::decompress;
    compressor->of = made.get();
    compressor->settled = compressor == &made->settled;
  }
  return *made;
}

void PageCompressors::register_with(WT_CONNECTION* connection, Collection& collection) {
  const std::string fresh = fresh_name(collection.id), settled = settled_name(collection.id);
  wt::check(connection->add_compressor(connection, fresh.c_str(), &collection.fresh.interface, nullptr), "registering " + fresh);
  wt::check(connection->add_compressor(connection, settled.c_str(), &collection.settled.interface, nullptr),
            "registering " + settled);
}

int PageCompressors::register_all(WT_CONNECTION* connection) {
  const base::MutexLock lock(mutex_);
  connection_ = connection;
  wt::check(connection->add_compressor(connection, entries_compressor, &entries_->interface, nullptr),
            "registering the indexes' compressor");
  for (auto& [id, collection] : collections_) register_with(connection, *collection);
  return 0;
}

void PageCompressors::add(CollectionId id) {
  const base::MutexLock lock(mutex_);
  const auto found = collections_.find(id);
  if (found == collections_.end()) {
    write(id, write_dictionaries({}));
    register_with(connection_, make(id));
  } else if (!fs::exists(path(id))) {
    // The collection's tables were gone: after a rollback the same number is given to another collection.
    write(id, write_dictionaries(found->second->digested.load()->dictionaries));
  }
}

std::string PageCompressors::entries_name() {
  return entries_compressor;
}

void PageCompressors::set_settled(CollectionId id, int level, bool columns) {
  const base::MutexLock lock(mutex_);
  const auto found = collections_.find(id);
  base::check(found != collections_.end(), "a level for a collection without compressors");
  found->second->settled_level = level;
  found->second->columns = columns;
}

PageCompressors::Thorough::Thorough(PageCompressors& compressors, CollectionId id) {
  const base::MutexLock lock(compressors.mutex_);
  const auto found = compressors.collections_.find(id);
  base::check(found != compressors.collections_.end() && !packing, "one collection is packed at a time, that has compressors");
  packing = found->second.get();  // it stays as long as the compressors do
}

PageCompressors::Thorough::~Thorough() {
  packing = nullptr;
}

size_t PageCompressors::dictionaries(CollectionId id) const {
  const base::MutexLock lock(mutex_);
  const auto found = collections_.find(id);
  return found == collections_.end() ? 0 : found->second->digested.load()->dictionaries.size();
}

bool PageCompressors::learn(CollectionId id, const std::vector<Bytes>& samples, size_t bytes_max) {
  Collection* collection = nullptr;
  {
    const base::MutexLock lock(mutex_);
    const auto found = collections_.find(id);
    if (found == collections_.end()) return false;
    collection = found->second.get();
  }
  std::vector<Bytes> dictionaries = collection->digested.load()->dictionaries;
  if (dictionaries.size() >= dictionaries_max) return false;
  Bytes made = train_dictionary(samples, bytes_max, static_cast<uint32_t>(dictionaries.size() + 1));
  if (made.empty()) return false;
  dictionaries.push_back(std::move(made));
  const base::MutexLock lock(mutex_);
  write(id, write_dictionaries(dictionaries));
  collection->digested = digest(std::move(dictionaries));
  return true;
}

std::string PageCompressors::check_file(CollectionId id) {
  const base::MutexLock lock(mutex_);
  const auto found = collections_.find(id);
  if (found == collections_.end()) return {};
  const auto& known = found->second->digested.load()->dictionaries;
  const auto same = [&](const std::string& file) {
    const auto there = read(file);
    return there && there.value() == known;
  };
  if (same(file_name(id)) && same(copy_name(id))) return {};
  write(id, write_dictionaries(known));
  return "the file " + file_name(id) + " or its copy was missing or damaged, and was written again from memory";
}

void PageCompressors::table_gone(const std::string& table) {
  const auto id = collection_of(table + table_suffix);
  if (!id) return;
  const base::MutexLock lock(mutex_);
  const auto found = collections_.find(*id);
  if (found == collections_.end()) return;
  for (const char* prefix : table_prefixes) {
    if (fs::exists(directory_ + "/" + prefix + std::to_string(*id) + table_suffix)) return;
  }
  // WiredTiger keeps the compressors themselves until it closes.
  found->second->digested = std::make_shared<const Digested>();
  std::error_code ignored;
  fs::remove(path(*id), ignored);
  fs::remove(directory_ + "/" + copy_name(*id), ignored);
}

}  // namespace storage

// wiredtiger_open calls this function, which it finds by name, so no header declares it.
extern "C" __attribute__((visibility("default"))) int palimpsest_register_compressors(WT_CONNECTION* connection, WT_CONFIG_ARG*);

int palimpsest_register_compressors(WT_CONNECTION* connection, WT_CONFIG_ARG*) {
  if (!storage::opening) return WT_ERROR;
  try {
    return storage::opening->register_all(connection);
  } catch (const base::OperationError& error) {  // WiredTiger accepts only a number
    base::log(base::Severity::error, base::LogComponent::storage, storage::log_not_registered,
              "The pages' compressors could not be registered", base::Attributes().add("error", error.what()));
    return WT_ERROR;
  }
}
