#pragma once

// What the handlers of all paths share.

#include <functional>
#include <string>
#include <vector>

#include "studio/feeds.h"
#include "studio/folder.h"
#include "studio/jobs.h"
#include "studio/request.h"

namespace cortado::studio {

struct Workplace {
  explicit Workplace(const std::string& path) : folder(path), cortado(cortado_program()) {}

  Folder folder;
  std::string cortado;  ///< the program
  Feeds feeds;
  Jobs jobs;

  /// Runs `cortado` with these words in the folder. Where it ends with another code than 0, throws
  /// RequestError(kInvalid) with what it said.
  ChildResult run(const std::vector<std::string>& words, std::chrono::seconds time = std::chrono::seconds(60)) const;
  /// The same, whatever its code.
  ChildResult try_run(const std::vector<std::string>& words,
                      std::chrono::seconds time = std::chrono::seconds(60)) const;
};

/// What the program said, without its log lines' heads and its advice to read --help.
std::string plain_message(const std::string& err);

/// A path that is answered, and how.
struct Route {
  std::string method, path;
  std::function<http::Reply(const Request&)> run;
};
using Routes = std::vector<Route>;

// Each in a file of its own
Routes dataset_routes(Workplace& place);
Routes net_routes(Workplace& place);
Routes run_routes(Workplace& place);
Routes training_routes(Workplace& place);
Routes try_routes(Workplace& place);

}  // namespace cortado::studio
