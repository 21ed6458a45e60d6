#pragma once

#include <string>
#include <vector>

#include "http/message.h"
#include "http/request_error.h"

namespace cortado::http {

/// The one of `routes`, each of which has a `method` and a `path`, a pattern, that takes such a request; `names` gets
/// what stands for the pattern's "*". Throws RequestError(kNotFound, kNoMethod, kInvalid).
template <class Route>
const Route& route_of(const std::vector<Route>& routes, const std::string& method, const std::string& path,
                      std::vector<std::string>& names) {
  bool is_known = false;
  for (const Route& route : routes) {
    if (!matches(route.path, path, names)) continue;
    if (route.method == method) return route;
    is_known = true;
  }
  if (is_known) throw RequestError(Refusal::kNoMethod, path + " does not take " + method);
  throw RequestError(Refusal::kNotFound, "there is nothing at " + path);
}

}  // namespace cortado::http
