// This loads Stack Exchange data dumps: PostHistory.xml and Posts.xml of any number of sites. Each row is a document; the site is
// the folder that the file lies in.
//
//   post_history {_id: "<site>/<Id>", site, type, post, revision, created, user, …, text}
//   posts        {_id: "<site>/<Id>", site, type, parent, created, score, views, …, title, tags, body}
#pragma once

#include <deque>

#include "datasets/input/xml.h"
#include "datasets/loader.h"

namespace datasets {

class StackExchangeLoader : public Loader, private XmlReader::Handler {
 public:
  StackExchangeLoader(InputFile file, Problems& problems);
  std::optional<Item> next() override;

 private:
  struct Column;
  static const Column history_columns[];
  static const Column post_columns[];

  void start(std::string_view name, const char** attributes) override;
  void end(std::string_view) override {}
  void text(std::string_view) override {}
  void restart() override {}

  std::string site_;
  bool history_;  // PostHistory.xml, else Posts.xml
  std::deque<Item> ready_;
  XmlReader reader_;
};

}  // namespace datasets
