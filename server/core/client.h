// A client is one connection as the commands see it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "bson/document.h"
#include "server/access/authority.h"
#include "server/access/conversation.h"

namespace server {

enum class ClientId : int64_t {};

// ClientMetadata is how the client described itself in its first hello.
struct ClientMetadata {
  bson::Document document;  // driver, os, platform, application
  std::string app_name;
};

// The connection sets a client up before its first operation. Other threads may read the metadata and the authority (currentOp);
// the rest belongs to the operation in progress.
class Client {
 public:
  Client(ClientId id, std::string remote, std::string local, bool unix_socket)
      : id_(id), remote_(std::move(remote)), local_(std::move(local)), unix_socket_(unix_socket) {}

  ClientId id() const { return id_; }
  const std::string& remote() const { return remote_; }  // "127.0.0.1:51234", "anonymous unix socket"
  const std::string& local() const { return local_; }
  bool is_unix_socket() const { return unix_socket_; }
  std::string description() const { return "conn" + std::to_string(static_cast<int64_t>(id_)); }

  // Returns nullopt until the first hello that carries `client`.
  std::optional<ClientMetadata> metadata() const;
  // Returns false if it was set before: a connection sends its metadata once.
  bool set_metadata(ClientMetadata metadata);

  // Returns the UUID by which the audit log names the connection.
  bson::Bytes audit_id() const;

  // The compressors that both sides know, in the client's order ("snappy", "zstd", "zlib").
  std::vector<std::string> compressors;
  bool sent_hello_ok = false;

  // Returns the users who are logged in, and what they may do; nullptr: nobody is.
  access::AuthorityPtr authority() const;
  // `generation`: that of the users when the authority was made (users/users.h).
  void set_authority(access::AuthorityPtr authority, uint64_t generation);
  uint64_t authority_generation = 0;
  // The login that is under way; nullptr: none is.
  std::unique_ptr<access::Conversation> conversation;
  bool speculative = false;  // that login came with a hello

  // The subject of the certificate that the peer showed, as RFC 2253 writes it; missing without TLS or without a certificate that
  // was verified.
  std::optional<std::string> tls_subject;

 private:
  const ClientId id_;
  const std::string remote_;
  const std::string local_;
  const bool unix_socket_;
  mutable base::Mutex mutex_;
  std::optional<ClientMetadata> metadata_ GUARDED_BY(mutex_);
  mutable bson::Bytes audit_id_ GUARDED_BY(mutex_);
  access::AuthorityPtr authority_ GUARDED_BY(mutex_);
};

}  // namespace server
