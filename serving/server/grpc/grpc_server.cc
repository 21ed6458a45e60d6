#include "server/grpc/grpc_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include "core/error.h"
#include "core/files/file.h"
#include "server/grpc/service.h"

namespace cortado::server {

namespace {

constexpr int64_t kMaxPem = 1 << 20;
constexpr int kMaxHeaders = 16 << 10, kMaxStreams = 1024;
constexpr int kIdleMs = 600'000, kPingMs = 30'000, kPingAnswerMs = 20'000;

std::shared_ptr<grpc::ServerCredentials> credentials_of(const GrpcTls& tls) {
  if (tls.key.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({read_file(tls.key, kMaxPem), read_file(tls.certificates, kMaxPem)});
  return grpc::SslServerCredentials(options);
}

void set_limits(grpc::ServerBuilder& builder, const GrpcLimits& limits) {
  grpc::ResourceQuota quota("cortado");
  quota.Resize(size_t(limits.memory_bytes));
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(int(limits.message_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaders);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingAnswerMs);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

struct GrpcServer::Impl {
  Impl(Repository& repository, const Token& token, http::MemoryBudget& budget) : service(repository, token, budget) {}

  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

GrpcServer::GrpcServer(const std::string& address, uint16_t port, const GrpcTls& tls, const GrpcLimits& limits,
                       Repository& repository, const Token& token, http::MemoryBudget& budget)
    : impl_(std::make_unique<Impl>(repository, token, budget)) {
  const std::string host = address.find(':') == std::string::npos ? address : "[" + address + "]";
  grpc::ServerBuilder builder;
  builder.AddListeningPort(host + ":" + std::to_string(port), credentials_of(tls), &impl_->port);
  set_limits(builder, limits);
  builder.RegisterService(&impl_->service);
  impl_->server = builder.BuildAndStart();
  if (!impl_->server || impl_->port == 0)
    throw Error(ExitCode::kIo, "cannot listen for gRPC on " + host + " port " + std::to_string(port),
                "choose another port with --grpc-port=N, or -1 for none");
}

GrpcServer::~GrpcServer() = default;

int GrpcServer::port() const { return impl_->port; }

void GrpcServer::drain(std::chrono::seconds most) {
  impl_->service.set_draining();
  impl_->server->Shutdown(std::chrono::system_clock::now() + most);
  impl_->server->Wait();
}

}  // namespace cortado::server
