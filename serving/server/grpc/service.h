#pragma once

#include <atomic>

#include "http/memory_budget.h"
#include "server/models/inference.grpc.pb.h"
#include "server/models/repository.h"
#include "server/token.h"

namespace cortado::server {

/// One function for each call of the protocol. They return at once and run on gRPC's threads.
class Service : public inference::GRPCInferenceService::CallbackService {
 public:
  Service(Repository& repository, const Token& token, http::MemoryBudget& budget)
      : repository_(repository), token_(token), budget_(budget) {}

  void set_draining() { draining_ = true; }

 private:
  using Reactor = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;

  Reactor* ServerLive(Context* context, const inference::ServerLiveRequest* request,
                      inference::ServerLiveResponse* response) override;
  Reactor* ServerReady(Context* context, const inference::ServerReadyRequest* request,
                       inference::ServerReadyResponse* response) override;
  Reactor* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override;
  Reactor* ServerMetadata(Context* context, const inference::ServerMetadataRequest* request,
                          inference::ServerMetadataResponse* response) override;
  Reactor* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override;
  Reactor* ModelInfer(Context* context, const inference::ModelInferRequest* request,
                      inference::ModelInferResponse* response) override;
  Reactor* ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                       inference::ModelConfigResponse* response) override;
  Reactor* ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                           inference::ModelStatisticsResponse* response) override;
  Reactor* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                           inference::RepositoryIndexResponse* response) override;
  Reactor* RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                               inference::RepositoryModelLoadResponse* response) override;
  Reactor* RepositoryModelUnload(Context* context, const inference::RepositoryModelUnloadRequest* request,
                                 inference::RepositoryModelUnloadResponse* response) override;

  void check_token(const Context& context) const;  ///< throws RequestError(kUnauthorized)

  /// Checks the token if `guarded`, runs `work`, and finishes with its error or with OK.
  template <typename Work>
  Reactor* finished(Context* context, const Work& work, bool guarded = true);
  /// The same for calls that finish asynchronously.
  template <typename Work>
  Reactor* started(Context* context, const Work& work);

  Repository& repository_;
  const Token& token_;
  http::MemoryBudget& budget_;
  std::atomic<bool> draining_ = false;
};

}  // namespace cortado::server
