// These functions turn the rows of the log's table into bytes and back. Every value begins with the checksum of its key and what
// follows it, so a row that was damaged, or stands in another's place, is known as such.
#pragma once

#include "base/result.h"
#include "replication/consensus/log_disk.h"

namespace replication::consensus {

Bytes meta_key();
Bytes run_key(Index first);
Bytes entry_key(Index index);
Index index_of_key(BytesView key);

Bytes encode_meta(const LogMeta& meta);
Bytes encode_run(const TermRun& run);
Bytes encode_entry(const LogEntry& entry);

// Failures name the row: DataCorruptionDetected, or UnsupportedFormat for a version that is not ours.
base::Result<LogMeta> decode_meta(BytesView value);
base::Result<TermRun> decode_run(BytesView key, BytesView value);
base::Result<EntryPtr> decode_entry(BytesView key, BytesView value);

}  // namespace replication::consensus
