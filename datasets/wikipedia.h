// This reads MediaWiki XML exports with full history: one document a revision.
//
//   {_id: <revision>, page: {id, title, ns}, parent, timestamp, user: {name, id} or {ip},
//    minor, comment, model, format, sha1, text}
#pragma once

#include <deque>

#include "datasets/input/xml.h"
#include "datasets/loader.h"

namespace datasets {

class WikipediaLoader : public Loader, private XmlReader::Handler {
 public:
  WikipediaLoader(InputFile file, Problems& problems);

  std::optional<Item> next() override;

 private:
  struct Page {
    std::string id, title, ns;
  };
  struct Revision {
    std::string id, parent, timestamp, user, user_id, user_ip, comment, model, format, sha1, text;
    bool minor = false;
    bool text_deleted = false;
  };
  enum class Inside { elsewhere, page, revision, contributor };

  void start(std::string_view name, const char** attributes) override;
  void end(std::string_view name) override;
  void text(std::string_view piece) override;
  void restart() override;

  std::string* field(std::string_view name);
  void clear();
  void finish();

  Inside inside_ = Inside::elsewhere;
  Page page_;
  Revision revision_;
  std::string* target_ = nullptr;  // the string that text goes to
  bool too_large_ = false;
  std::deque<Item> ready_;
  XmlReader reader_;
};

}  // namespace datasets
