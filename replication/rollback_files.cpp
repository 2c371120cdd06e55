#include "replication/rollback_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/collections/catalog.h"
#include "storage/engine/directory.h"
#include "storage/engine/names.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace replication {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::OperationError;

std::string uuid_text(base::BytesView uuid) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<uint8_t>(uuid[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

void write_whole(const std::string& path, const Bytes& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written = file >= 0;
  for (size_t at = 0; written && at < bytes.size();) {
    const ssize_t some = ::write(file, bytes.data() + at, bytes.size() - at);
    written = some > 0;
    if (written) at += static_cast<size_t>(some);
  }
  written = written && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (written) return;
  throw OperationError(error == ENOSPC ? ErrorCode::out_of_disk_space : ErrorCode::internal_error,
                       "cannot write " + path + ": " + std::strerror(error));
}

// nullptr: it is gone, or its branch is.
std::shared_ptr<storage::Collection> open(storage::Catalog& catalog, const std::string& ns) {
  try {
    return catalog.open(ns);
  } catch (const OperationError& error) {
    if (error.code() == ErrorCode::namespace_not_found) return nullptr;
    throw;
  }
}

}  // namespace

int64_t write_rollback_files(storage::Store& store, Oplog& oplog, storage::Stamp kept, const std::string& directory,
                             int64_t wall_ms) {
  // The changed documents are kept by the collection's name, because its newest entry says what the collection is called now.
  std::map<std::string, std::set<Bytes>> changed;
  {
    storage::Transaction transaction(store, storage::Transaction::Mode::read);
    const auto scan = oplog.collection()->scan(transaction, storage::Direction::forward);
    scan->seek(static_cast<storage::RecordId>(kept + 1));
    while (scan->next()) {
      const bson::DocumentView entry = scan->document();
      const std::string_view op = entry["op"].as_string();
      if (op != "i" && op != "u" && op != "d") continue;
      const bson::Element id = entry[op == "u" ? "o2" : "o"].as_document()["_id"];
      bson::Builder key;
      key.append("_id", static_cast<bson::ValueView>(id));
      changed[std::string(entry["ns"].as_string())].insert(Bytes(key.done().bytes()));
    }
  }
  int64_t documents = 0;
  for (const auto& [ns, ids] : changed) {
    const auto collection = open(store.catalog(), ns);
    if (!collection) continue;
    const std::shared_lock schema(collection->schema_mutex());
    storage::Transaction transaction(store, storage::Transaction::Mode::read);
    Bytes file;
    for (const Bytes& id : ids) {
      const auto record = collection->find_id(transaction, bson::DocumentView(id)["_id"]);
      const auto document = record ? collection->find(transaction, *record) : std::nullopt;
      if (!document) continue;
      file.append(document->bytes());
      ++documents;
    }
    if (file.empty()) continue;
    // Branches share the collection's uuid.
    const std::string_view db = storage::database_of(ns);
    const std::string folder =
        directory + "/" + uuid_text(collection->uuid_bytes()) + std::string(db.substr(std::min(db.find('@'), db.size())));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string name = folder + "/removed." + base::iso_date(wall_ms) + ".bson";
    if (const base::Cipher* cipher = store.engine().file_cipher())
      write_whole(name + storage::sealed_suffix, cipher->seal(file));
    else
      write_whole(name, file);
  }
  return documents;
}

}  // namespace replication
