#include "server/rest/api.h"

#include "core/text/json.h"
#include "http/message.h"
#include "http/routes.h"
#include "server/models/description.h"
#include "server/rest/infer_message.h"
#include "server/rest/model_json.h"
#include "server/rest/page.h"

namespace cortado::server {

namespace {

Reply json_reply(const nlohmann::ordered_json& body) { return {.body = dumped_json(body)}; }

Reply state_reply(bool good) { return {.status = good ? 200 : 503, .body = ""}; }

RequestPtr image_request(const std::shared_ptr<Call>& call, const std::shared_ptr<Version>& version,
                         Clock::time_point arrived) {
  ImageReader* const reader = version->image_reader();
  if (!reader) throw RequestError(Refusal::kInvalid, "model '" + version->model() + "' does not take images");
  auto request = std::make_shared<Request>();
  request->inputs[reader->input()] = reader->prepare(call->body);
  request->outputs = {reader->output()};
  request->client_is_gone = call->client_is_gone;
  request->memory = call->memory;
  request->done = [call, version, arrived](Outcome outcome) {
    if (const auto* error = std::get_if<RequestError>(&outcome.result)) return call->answer(reply_of(*error));
    call->answer(json_reply(seen_json(*version, std::get<Arrays>(outcome.result), Clock::now() - arrived)));
  };
  return request;
}

/// Answers when the repository has finished.
Repository::Done done_of(const std::shared_ptr<Call>& call) {
  return [call](std::optional<RequestError> failure) { call->answer(failure ? reply_of(*failure) : Reply{}); };
}

}  // namespace

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> all = {{"GET", "/", &Api::page, true},
                                         {"GET", "/style.css", &Api::page, true},
                                         {"GET", "/page.css", &Api::page, true},
                                         {"GET", "/elements.js", &Api::page, true},
                                         {"GET", "/formats.js", &Api::page, true},
                                         {"GET", "/images.js", &Api::page, true},
                                         {"GET", "/page.js", &Api::page, true},
                                         {"GET", "/metrics", &Api::metrics},
                                         {"POST", "/v1/classify", &Api::classify},
                                         {"GET", "/v2", &Api::server_metadata},
                                         {"GET", "/v2/health/live", &Api::live, true},
                                         {"GET", "/v2/health/ready", &Api::ready, true},
                                         {"GET", "/v2/models/stats", &Api::all_statistics},
                                         {"GET", "/v2/models/*", &Api::model_metadata},
                                         {"GET", "/v2/models/*/versions/*", &Api::model_metadata},
                                         {"GET", "/v2/models/*/ready", &Api::model_ready},
                                         {"GET", "/v2/models/*/versions/*/ready", &Api::model_ready},
                                         {"GET", "/v2/models/*/config", &Api::config},
                                         {"GET", "/v2/models/*/versions/*/config", &Api::config},
                                         {"GET", "/v2/models/*/stats", &Api::statistics},
                                         {"GET", "/v2/models/*/versions/*/stats", &Api::statistics},
                                         {"POST", "/v2/models/*/infer", &Api::infer},
                                         {"POST", "/v2/models/*/versions/*/infer", &Api::infer},
                                         {"POST", "/v2/repository/index", &Api::index},
                                         {"POST", "/v2/repository/models/*/load", &Api::load},
                                         {"POST", "/v2/repository/models/*/unload", &Api::unload}};
  return all;
}

const Api::Route& Api::route_of(const Head& head, Names& names) {
  return http::route_of(routes(), head.method == "HEAD" ? "GET" : head.method, head.path, names);
}

/// While the body of an infer request is received, the model's batch may wait for it.
std::shared_ptr<void> Api::admit(const Head& head) {
  origins_.check(head);
  if (origins_.is_preflight(head)) return nullptr;
  Names names;
  const Route& route = route_of(head, names);
  if (!route.open && !token_.allows(head.field("Authorization")))
    throw RequestError(Refusal::kUnauthorized, "a token is required: 'Authorization: Bearer TOKEN'");
  if (route.run != &Api::infer) return nullptr;
  struct Arriving {
    std::shared_ptr<Version> version;
    Batcher::Arrival arrival;
  };
  const std::shared_ptr<Version> version = version_of(names);
  return std::shared_ptr<void>(new Arriving{version, Batcher::Arrival(version->batcher())},
                               [](void* arriving) { delete static_cast<Arriving*>(arriving); });
}

void Api::handle(const std::shared_ptr<Call>& call) {
  if (origins_.is_preflight(call->head)) return call->answer(http::Origins::answer_preflight(call->head));
  Names names;
  (this->*route_of(call->head, names).run)(call, names);
}

std::shared_ptr<Version> Api::version_of(const Names& names) const {
  return repository_.find(names[0], names.size() > 1 ? names[1] : "");
}

void Api::page(const std::shared_ptr<Call>& call, const Names&) {
  const web::PageFile& file = *find_page_file(call->head.path);
  call->answer({.body = std::string(file.content),
                .type = file.type,
                .headers = {{"Content-Security-Policy",
                             "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
                             "img-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
                            {"X-Content-Type-Options", "nosniff"}}});
}

void Api::metrics(const std::shared_ptr<Call>& call, const Names&) {
  repository_.update_gauges();
  if (connections_) metrics_.set_connections(connections_());
  call->answer({.body = metrics_.text(), .type = "text/plain; version=0.0.4; charset=utf-8"});
}

void Api::live(const std::shared_ptr<Call>& call, const Names&) { call->answer(state_reply(true)); }

void Api::ready(const std::shared_ptr<Call>& call, const Names&) {
  call->answer(state_reply(!draining_ && repository_.is_ready()));
}

void Api::server_metadata(const std::shared_ptr<Call>& call, const Names&) {
  call->answer(json_reply(json_of(metadata_of_server())));
}

void Api::model_metadata(const std::shared_ptr<Call>& call, const Names& names) {
  call->answer(json_reply(json_of(metadata_of(*version_of(names)))));
}

void Api::model_ready(const std::shared_ptr<Call>& call, const Names& names) {
  version_of(names);
  call->answer(state_reply(true));
}

void Api::config(const std::shared_ptr<Call>& call, const Names& names) {
  call->answer(json_reply(json_of(config_of(*version_of(names)))));
}

void Api::statistics(const std::shared_ptr<Call>& call, const Names& names) {
  call->answer(json_reply(json_of(statistics_of({version_of(names)}))));
}

void Api::all_statistics(const std::shared_ptr<Call>& call, const Names&) {
  call->answer(json_reply(json_of(statistics_of(repository_.all()))));
}

void Api::index(const std::shared_ptr<Call>& call, const Names&) {
  call->answer(json_reply(json_of(index_of(repository_.index(), wants_ready_only(call->body)))["models"]));
}

void Api::load(const std::shared_ptr<Call>& call, const Names& names) {
  check_load_parameters(call->body);
  repository_.load(names[0], done_of(call));
}

void Api::unload(const std::shared_ptr<Call>& call, const Names& names) {
  check_load_parameters(call->body);
  repository_.unload(names[0], done_of(call));
}

void Api::infer(const std::shared_ptr<Call>& call, const Names& names) {
  repository_.submit(names[0], names.size() > 1 ? names[1] : "", [&](const std::shared_ptr<Version>& version) {
    AnswerForm form;
    RequestPtr request = read_infer(*call, *version, form);
    request->done = [call, form = std::move(form), version](Outcome outcome) {
      if (const auto* error = std::get_if<RequestError>(&outcome.result)) return call->answer(reply_of(*error));
      call->answer(infer_reply(version->model(), version->number(), std::get<Arrays>(outcome.result), form));
    };
    return request;
  });
  call->body = {};
}

void Api::classify(const std::shared_ptr<Call>& call, const Names&) {
  const auto named = call->head.query.find("model");
  const std::string model =
      named == call->head.query.end() ? repository_.only()->model() : http::query_decoded(named->second);
  const auto arrived = Clock::now();
  decoder_.post([this, call, model, arrived] {
    try {
      repository_.submit(
          model, "", [&](const std::shared_ptr<Version>& version) { return image_request(call, version, arrived); });
      call->body = {};
    } catch (...) {
      call->answer(reply_of(current_request_error()));
    }
  });
}

}  // namespace cortado::server
