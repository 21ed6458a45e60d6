#pragma once

#include <string>
#include <vector>

#include "http/message.h"
#include "http/request_error.h"

namespace cortado::http {

/// Finds the route for a method and path. Each of `routes` has a `method` and a `path`, which is a pattern; `names`
/// receives the segments that match "*". Throws RequestError(kNotFound, kNoMethod, kInvalid).
template <class Route>
const Route& route_of(const std::vector<Route>& routes, const std::string& method, const std::string& path,
                      std::vector<std::string>& names) {
  bool is_known = false;
  for (const Route& route : routes) {
    if (!matches(route.path, path, names)) continue;
    if (route.method == method) return route;
    is_known = true;
  }
  if (is_known) throw RequestError(Refusal::kNoMethod, "method " + method + " is not allowed for " + path);
  throw RequestError(Refusal::kNotFound, "no such path: " + path);
}

}  // namespace cortado::http
