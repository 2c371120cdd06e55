#include <bzlib.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "datasets/test_support.h"

namespace datasets::test {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "palimpsest-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::filesystem::remove_all(path_);
}

std::string Folder::write(const std::string& name, const std::string& content) const {
  const std::filesystem::path path = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

std::vector<Item> all(Loader& loader) {
  std::vector<Item> items;
  while (auto item = loader.next()) items.push_back(std::move(*item));
  CHECK(!loader.next());  // the loader stays at the end
  return items;
}

std::vector<Item> load(const std::string& source, Problems& problems, Kind kind) {
  SourceOptions options;
  options.source = source;
  options.kind = kind;
  Source loader(options, problems);
  return all(loader);
}

std::vector<Item> load_cleanly(const std::string& source, Kind kind) {
  Problems problems(Problems::Policy::stop);
  return load(source, problems, kind);
}

std::string zstd(const std::string& bytes, int window_log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  }
  std::string out;
  char piece[4096];
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (bool done = false; !done;) {  // it is streamed, so that the frame doesn't know its size and keeps its window
    const bool last = in.pos == in.size;
    ZSTD_outBuffer to{piece, sizeof piece, 0};
    const size_t left = ZSTD_compressStream2(context, &to, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    REQUIRE(!ZSTD_isError(left));
    out.append(piece, to.pos);
    done = last && left == 0;
  }
  ZSTD_freeCCtx(context);
  return out;
}

std::string gzip(const std::string& bytes) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(bytes.size() + 1024, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string bzip2(const std::string& bytes) {
  std::string out(bytes.size() * 2 + 1024, '\0');
  auto size = static_cast<unsigned>(out.size());
  REQUIRE(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()), 9, 0,
                                   0) == BZ_OK);
  out.resize(size);
  return out;
}

std::string tar_member(const std::string& name, const std::string& content, char type) {
  std::string header(512, '\0');
  header.replace(0, std::min<size_t>(name.size(), 100), name.substr(0, 100));
  header.replace(100, 7, "0000644");
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011zo", content.size());
  header.replace(124, 11, octal, 11);
  header[156] = type;
  header.replace(257, 8,
                 "ustar\0"
                 "00",
                 8);
  return with_tar_checksum(header) + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string with_tar_checksum(std::string header) {
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char octal[8];
  std::snprintf(octal, sizeof octal, "%06o", sum);
  return header.replace(148, 7, std::string(octal, 7));
}

std::string tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out;
  for (const auto& [name, content] : files) {
    if (name.size() > 100) out += tar_member("././@LongLink", name + '\0', 'L');
    out += tar_member(name, content, '0');
  }
  return out + std::string(1024, '\0');
}

std::string fetched_by(const std::string& html) {
  for (const char* loads : {"src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("}) {
    if (html.find(loads) != std::string::npos) return loads;
  }
  return {};
}

}  // namespace datasets::test
