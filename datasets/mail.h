// Mail comes as an mbox, or as one message a file (maildir). Each message is a document.
//
//   {_id, mailbox, folder, date, messageId, inReplyTo, references, from, to: […],
//    cc: […], bcc: […], subject, headers: {the others}, body}
//
// _id is the file's path below "maildir" (or its name), for an mbox "<mbox>/<n>": messages may lack a Message-ID, and share
// one.
#pragma once

#include "datasets/input/files.h"
#include "datasets/input/lines.h"
#include "datasets/loader.h"

namespace datasets {

class MboxLoader : public Loader {
 public:
  MboxLoader(InputFile file, Problems& problems);
  std::optional<Item> next() override;

 private:
  InputFile file_;
  Problems& problems_;
  LineReader lines_;
  uint64_t count_ = 0;
  uint64_t started_at_ = 0;   // where the message in hand begins
  int64_t timestamp_ms_ = 0;  // the envelope of the message before
  std::string message_;
  bool open_ = false;
  bool done_ = false;
};

class MessageLoader : public Loader {
 public:
  MessageLoader(InputFile file, Problems& problems) : file_(std::move(file)), problems_(problems) {}
  std::optional<Item> next() override;

 private:
  InputFile file_;
  Problems& problems_;
  bool done_ = false;
};

// A message as a document. `path` gives mailbox and folder; timestamp_ms is 0
// when no date can be read.
Item mail_item(std::string_view id, std::string_view path, std::string_view message);

}  // namespace datasets
