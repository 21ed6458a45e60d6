#include "server/grpc/service.h"

#include "server/grpc/messages.h"
#include "server/models/description.h"

namespace cortado::server {

void Service::check_token(const Context& context) const {
  const auto found = context.client_metadata().find("authorization");
  const bool is_there = found != context.client_metadata().end();
  if (!token_.allows(is_there ? std::string_view(found->second.data(), found->second.size()) : ""))
    throw RequestError(Refusal::kUnauthorized, "a token is required: metadata 'authorization: Bearer TOKEN'");
}

template <typename Work>
grpc::ServerUnaryReactor* Service::started(Context* context, const Work& work) {
  Reactor* const reactor = context->DefaultReactor();
  try {
    check_token(*context);
    work(reactor);
  } catch (...) {
    reactor->Finish(status_of(current_request_error()));
  }
  return reactor;
}

template <typename Work>
grpc::ServerUnaryReactor* Service::finished(Context* context, const Work& work, bool guarded) {
  Reactor* const reactor = context->DefaultReactor();
  try {
    if (guarded) check_token(*context);
    work();
    reactor->Finish(grpc::Status::OK);
  } catch (...) {
    reactor->Finish(status_of(current_request_error()));
  }
  return reactor;
}

Service::Reactor* Service::ServerLive(Context* context, const inference::ServerLiveRequest*,
                                      inference::ServerLiveResponse* response) {
  return finished(
      context, [&] { response->set_live(true); }, false);
}

Service::Reactor* Service::ServerReady(Context* context, const inference::ServerReadyRequest*,
                                       inference::ServerReadyResponse* response) {
  return finished(
      context, [&] { response->set_ready(!draining_ && repository_.is_ready()); }, false);
}

Service::Reactor* Service::ModelReady(Context* context, const inference::ModelReadyRequest* request,
                                      inference::ModelReadyResponse* response) {
  return finished(context, [&] {
    try {
      repository_.find(request->name(), request->version());
      response->set_ready(true);
    } catch (const RequestError& error) {
      if (error.why() != Refusal::kUnavailable && error.why() != Refusal::kNotFound) throw;
    }
  });
}

Service::Reactor* Service::ServerMetadata(Context* context, const inference::ServerMetadataRequest*,
                                          inference::ServerMetadataResponse* response) {
  return finished(context, [&] { *response = metadata_of_server(); });
}

Service::Reactor* Service::ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                                         inference::ModelMetadataResponse* response) {
  return finished(context, [&] { *response = metadata_of(*repository_.find(request->name(), request->version())); });
}

Service::Reactor* Service::ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                                       inference::ModelConfigResponse* response) {
  return finished(context, [&] {
    *response->mutable_config() = config_of(*repository_.find(request->name(), request->version()));
  });
}

Service::Reactor* Service::ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                                           inference::ModelStatisticsResponse* response) {
  return finished(context, [&] {
    std::vector<std::shared_ptr<Version>> versions;
    if (request->name().empty())
      versions = repository_.all();
    else
      versions.push_back(repository_.find(request->name(), request->version()));
    *response = statistics_of(versions);
  });
}

Service::Reactor* Service::RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                                           inference::RepositoryIndexResponse* response) {
  return finished(context, [&] { *response = index_of(repository_.index(), request->ready()); });
}

namespace {

Repository::Done finish(grpc::ServerUnaryReactor* reactor) {
  return [reactor](std::optional<RequestError> failure) {
    reactor->Finish(failure ? status_of(*failure) : grpc::Status::OK);
  };
}

}  // namespace

Service::Reactor* Service::RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                                               inference::RepositoryModelLoadResponse*) {
  return started(context, [&](Reactor* reactor) {
    check_parameters(request->parameters());
    repository_.load(request->model_name(), finish(reactor));
  });
}

Service::Reactor* Service::RepositoryModelUnload(Context* context,
                                                 const inference::RepositoryModelUnloadRequest* request,
                                                 inference::RepositoryModelUnloadResponse*) {
  return started(context, [&](Reactor* reactor) {
    check_parameters(request->parameters());
    repository_.unload(request->model_name(), finish(reactor));
  });
}

Service::Reactor* Service::ModelInfer(Context* context, const inference::ModelInferRequest* request,
                                      inference::ModelInferResponse* response) {
  return start_infer(repository_, budget_, *context, *request, *response, [this, context] { check_token(*context); });
}

}  // namespace cortado::server
