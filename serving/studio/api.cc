#include "studio/api.h"

#include "http/routes.h"
#include "studio/page_files.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

void add(Routes& all, Routes more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool reads(const http::Head& head) { return head.method == "GET" || head.method == "HEAD"; }

/// Adds security headers: no framing by other pages, no external content. A handler may set a stricter policy, or a
/// looser one with a sandbox.
http::Reply guarded(http::Reply reply) {
  const auto is_given = [&](const char* name) {
    return std::ranges::any_of(reply.headers, [&](const auto& one) { return one.first == name; });
  };
  if (!is_given("Content-Security-Policy"))
    reply.headers.emplace_back("Content-Security-Policy",
                               "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
                               "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Referrer-Policy", "no-referrer");
  reply.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  return reply;
}

}  // namespace

Api::Api(Workplace& place, const Access& access) : access_(access) {
  add(routes_, bin_routes(place));
  add(routes_, comparison_routes(place));
  add(routes_, dataset_routes(place));
  add(routes_, file_routes(place));
  add(routes_, net_routes(place));
  add(routes_, run_routes(place));
  add(routes_, preparation_routes(place));
  add(routes_, training_routes(place));
  add(routes_, try_routes(place));
}

std::shared_ptr<void> Api::admit(const http::Head& head) {
  if (access_.brings_token(head)) return nullptr;
  access_.check(head);
  if (!find_page_file(head.path)) route_of(head);
  return nullptr;
}

const Route& Api::route_of(const http::Head& head) const {
  std::vector<std::string> names;  // unused: these paths have no names
  return http::route_of(routes_, head.method, head.path, names);
}

void Api::handle(const std::shared_ptr<http::Call>& call) {
  if (access_.brings_token(call->head)) {
    call->answer(guarded({.status = 303,
                          .body = "",
                          .type = "text/plain",
                          .headers = {{"Location", "/"}, {"Set-Cookie", access_.cookie()}}}));
    return;
  }
  if (const web::PageFile* file = find_page_file(call->head.path)) {
    if (!reads(call->head))
      throw RequestError(Refusal::kNoMethod, "method " + call->head.method + " is not allowed for " + call->head.path);
    call->answer(guarded({.body = std::string(file->content), .type = file->type}));
    return;
  }
  threads_.post([call, route = &route_of(call->head)] {
    try {
      call->answer(guarded(route->run(Request(*call))));
    } catch (...) {
      call->answer(guarded(http::reply_of(http::current_request_error())));
    }
  });
}

}  // namespace cortado::studio
