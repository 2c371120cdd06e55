// `palimpsest backup` copies a running server's data to an archive, or to the standard output.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "client/connection.h"
#include "client/progress_bar.h"
#include "client/table.h"
#include "client/verbs.h"
#include "client/watched.h"
#include "storage/upkeep/backup_archive.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  std::string folder, from;
  bool whole = false, on_server = false;
};

void visit_pieces(Connection& server, const std::string& from, const std::function<void(base::BytesView)>& visit) {
  bson::Builder command;
  command.append("createBackup", 1);
  if (!from.empty()) command.append("incrementalFrom", from);
  {
    auto cursor = command.object("cursor");
    cursor.append("batchSize", 8);
  }
  server.each("admin", command.done(), [&](bson::DocumentView piece) {
    const bson::Element data = piece["data"];
    if (data.type() != bson::Type::binary) throw std::runtime_error("the server's answer is no backup");
    visit(data.as_binary().bytes);
  });
}

void write_out(base::BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::runtime_error("cannot write: " + std::string(std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

// `bytes`: what was written, which is without the zeros that the journal's files end with.
void report(const Arguments& arguments, const storage::BackupHead& head, uint64_t bytes, const std::string& path,
            std::ostream& out) {
  if (arguments.target.json) {
    bson::Builder document;
    if (!path.empty()) document.append("path", path);
    document.append("id", head.link.id);
    if (!head.link.from.empty()) document.append("from", head.link.from);
    document.append("time", bson::Date{head.time_ms}).append("files", static_cast<int64_t>(head.files.size()));
    document.append("bytes", static_cast<int64_t>(bytes));
    return print_json(out, document.done());
  }
  out << (head.link.from.empty() ? "whole backup" : "incremental backup") << (path.empty() ? "" : " " + path) << ", "
      << size_text(static_cast<int64_t>(bytes)) << " of " << count_text(static_cast<int64_t>(head.files.size())) << " files, id "
      << head.link.id << "\n";
}

int to_stdout(const Arguments& arguments) {
  if (::isatty(STDOUT_FILENO) == 1) throw std::runtime_error("a backup isn't written to a terminal");
  Connection server(arguments.target);
  storage::BackupDecoder decoder;  // what is damaged on the way is noticed here
  ProgressBar bar("copying", true);
  uint64_t written = 0;
  visit_pieces(server, arguments.from, [&](base::BytesView bytes) {
    written += bytes.size();
    decoder.feed(bytes);
    while (decoder.next()) {
    }
    write_out(bytes);
    if (decoder.head()) bar.show(decoder.bytes(), decoder.head()->bytes);
  });
  if (!decoder.ended()) throw std::runtime_error("the backup ended too early");
  report(arguments, *decoder.head(), written, "", std::cerr);
  return 0;
}

int to_archive(const Arguments& arguments) {
  Connection server(arguments.target);
  storage::ArchiveWriter archive(storage::plain_path(arguments.folder));
  ProgressBar bar("copying", true);
  visit_pieces(server, arguments.whole ? "" : archive.newest(), [&](base::BytesView bytes) {
    archive.write(bytes);
    if (archive.head()) bar.show(archive.bytes(), archive.head()->bytes);
  });
  const storage::ArchivedBackup made = archive.finish();
  report(arguments, made.head, made.file_bytes, made.path.string(), std::cout);
  return 0;
}

int on_server(const Arguments& arguments) {
  Connection server(arguments.target);
  bson::Builder command;
  command.append("createBackup", 1).append("archiveDir", arguments.folder);
  const bson::Document reply = run_watched(arguments.target, server, "admin", command.done(), "copying");
  if (arguments.target.json) return print_json(std::cout, reply), 0;
  const bson::DocumentView made = reply;
  std::cout << (made.has("incrementalFrom") ? "incremental backup " : "whole backup ") << made["number"].to_int64() << " in "
            << printable(arguments.folder) << " on the server, " << size_text(made["bytes"].to_int64()) << " of "
            << count_text(made["files"].to_int64()) << " files, id " << printable(text_of(made["backupId"])) << "\n";
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.on_server) return on_server(arguments);
  return arguments.folder == "-" ? to_stdout(arguments) : to_archive(arguments);
}

}  // namespace

Verb add_backup(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "backup", "copy a running server's data to an archive: everything, and after the first time what has changed");
  arguments->target.add_options(*verb, "");
  verb->add_option("folder", arguments->folder, "the archive, a folder of backups; - writes one backup to the standard output")
      ->required();
  CLI::Option* whole = verb->add_flag("--whole", arguments->whole, "copy everything, also where what has changed would do");
  verb->add_option("--from", arguments->from, "with -: copy what has changed since the backup of this id")->excludes(whole);
  verb->add_flag("--on-server", arguments->on_server, "the archive is a folder of the server's machine, an absolute path there")
      ->excludes(whole);
  verb->footer(
      "What is encrypted at rest stays encrypted in the backup, under the same key.\n"
      "If the server doesn't know any more what has changed since the archive's newest backup, it copies everything.");
  return {verb, [arguments, verb] {
            if (!arguments->from.empty() && (arguments->folder != "-" || arguments->on_server))
              throw CLI::ValidationError("--from", "is for a backup to the standard output");
            return run(*arguments);
          }};
}

}  // namespace client
