#pragma once

// State shared by the handlers of all paths.

#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "studio/claims.h"
#include "studio/feeds.h"
#include "studio/folder.h"
#include "studio/jobs.h"
#include "studio/request.h"
#include "studio/run_index.h"

namespace cortado::studio {

constexpr const char* kTemporaryName = "cortado-studio";  ///< of all TemporaryFolders

struct Workplace {
  explicit Workplace(const std::string& path) : folder(path), cortado(cortado_program()) {}

  Folder folder;
  RunIndex run_index{folder};
  std::string cortado;  ///< path of the program
  Claims claims;        // before the jobs, which have some
  Feeds feeds;
  Jobs jobs;
  /// Held shared while a training starts: until its record says what it uses, nothing is renamed or deleted.
  std::shared_timed_mutex starting;
  std::mutex taking_from_bin;

  using Change = std::unique_lock<std::shared_timed_mutex>;
  /// Until the change is done no training starts. Waits some seconds for one that does; then throws
  /// RequestError(kConflict).
  Change begin_change();

  /// Runs `cortado` with these arguments in the folder. Throws RequestError(kInvalid) with its message if the exit code
  /// is not 0.
  ChildResult run(const std::vector<std::string>& words, std::chrono::seconds time = std::chrono::seconds(60),
                  const std::atomic<bool>* cancelled = nullptr) const;
  /// The same for any exit code.
  ChildResult try_run(const std::vector<std::string>& words, std::chrono::seconds time = std::chrono::seconds(60),
                      const std::atomic<bool>* cancelled = nullptr) const;
};

/// The program's message, without log prefixes and hints about --help.
std::string plain_message(const std::string& err);

/// A path and its handler.
struct Route {
  std::string method, path;
  std::function<http::Reply(const Request&)> run;
};
using Routes = std::vector<Route>;

// Each in its own file
Routes bin_routes(Workplace& place);
Routes comparison_routes(Workplace& place);
Routes dataset_routes(Workplace& place);
Routes file_routes(Workplace& place);
Routes net_routes(Workplace& place);
Routes run_routes(Workplace& place);
Routes preparation_routes(Workplace& place);
Routes training_routes(Workplace& place);
Routes try_routes(Workplace& place);

}  // namespace cortado::studio
