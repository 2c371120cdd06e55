// This target reads any bytes, with a corrected checksum, as a collection's file of dictionaries. The file is refused as damaged
// data, or written back as a file that reads the same.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "storage/format/page_dictionary.h"

namespace {

using namespace storage;

Bytes with_checksum(BytesView body) {
  Bytes file(body);
  base::append_le(file, base::hash64(body));
  return file;
}

bool run(BytesView input) {
  const auto dictionaries = read_dictionaries(with_checksum(input));
  if (!dictionaries.ok()) return false;
  const auto again = read_dictionaries(write_dictionaries(dictionaries.value()));
  base::check(again.ok() && again.value() == dictionaries.value());
  return true;
}

std::vector<Bytes> seeds() {
  const auto without_checksum = [](Bytes file) { return file.substr(0, file.size() - sizeof(uint64_t)); };
  std::vector<Bytes> samples;
  for (int i = 0; i < 300; ++i) samples.push_back("a document of this collection, number " + std::to_string(i) + ", with words");
  const Bytes trained = train_dictionary(samples, 512, 1);
  base::check(!trained.empty());
  return {without_checksum(write_dictionaries({})), without_checksum(write_dictionaries({trained}))};
}

const base::FuzzTarget target("page_dictionary", run, seeds);

}  // namespace
