// The reader reads XML by expat as it comes, and continues after damage.
//
// Well-formedness errors end an XML document for good. Dumps are long lists of records, though: the
// bytes after the next record's opening tag are usually sound. So after an error the reader reports
// it, looks for that tag, and goes on with a fresh parser, which learns from a prefix where it
// stands.
#pragma once

#include <string>
#include <vector>

#include "datasets/input/files.h"

struct XML_ParserStruct;

namespace datasets {

class XmlReader {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // Attributes are name, value, name, value, …, and a nullptr.
    virtual void start(std::string_view name, const char** attributes) = 0;
    virtual void end(std::string_view name) = 0;
    virtual void text(std::string_view piece) = 0;
    // The input was damaged: the handler must forget what is open. The next calls come as if the root's tag and `prefix` had just
    // been read.
    virtual void restart() = 0;
  };
  struct Restart {
    std::string tag;     // "<page>"
    std::string prefix;  // what is open around the tag inside the root: "" or "<page>"
  };

  XmlReader(InputFile file, Problems& problems, Handler& handler, std::vector<Restart> restarts);
  ~XmlReader();
  XmlReader(const XmlReader&) = delete;

  // Reads on a little and calls the handler. Returns false at the end. Problems of a step are reported when
  // the next one begins, so that the records before them are delivered before the first problem stops the
  // load.
  bool step();

  // Handlers, which must not throw through expat, report a problem with the record being read by
  // this.
  void complain(const std::string& message);

  const std::string& name() const { return file_.name; }
  // Returns where the tag being handled begins.
  uint64_t offset() const;
  uint64_t line() const;

 private:
  void open(const std::string& prefix);
  void started(std::string_view name, const char** attributes);
  void read_on();
  void broken(base::BytesView chunk);
  void seek();

  InputFile file_;
  Problems& problems_;
  Handler& handler_;
  std::vector<Restart> restarts_;
  XML_ParserStruct* parser_ = nullptr;
  std::string root_;   // the outermost element's name
  uint64_t base_ = 0;  // the place in the file where the parser's bytes began
  uint64_t base_line_ = 0;
  size_t prefix_bytes_ = 0;
  std::vector<Problem> pending_;
  bool seeking_ = false;
  bool done_ = false;
};

// Returns the value of an attribute, empty where it is missing.
std::string_view attribute(const char** attributes, std::string_view name);

}  // namespace datasets
