#pragma once

// The models by name. A model is replaced by loading its new version beside the old one, putting it in its place, and
// letting the old one finish what it has: no request is lost.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "http/task_threads.h"
#include "server/metrics/metrics.h"
#include "server/models/version.h"

namespace cortado::server {

/// What the index tells of a model.
struct ModelState {
  std::string name, version;  ///< "" where none is loaded
  bool ready = false;
  std::string reason;  ///< why it is not ready; may be empty
};

class Repository {
 public:
  /// Loads the model that the flags name and all in the folder of models. One of the folder that cannot be loaded is
  /// logged and tried again every few seconds, while the others are served. Throws Error where the flags' own model
  /// cannot be loaded, or none can.
  Repository(const tools::Arguments& arguments, Metrics& metrics);
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// The version that is served. `number` "": whichever that is. Throws RequestError(kNotFound, kUnavailable).
  std::shared_ptr<Version> find(const std::string& model, const std::string& number = {}) const;
  std::vector<std::shared_ptr<Version>> all() const;  ///< that are served
  /// The only model there is; throws RequestError(kInvalid) where there are several.
  std::shared_ptr<Version> only() const;

  /// Queues the request that `make` makes for the version that is served; again, for the next one, where that was
  /// replaced meanwhile. Throws RequestError, and what `make` throws.
  using Make = std::function<RequestPtr(const std::shared_ptr<Version>&)>;
  void submit(const std::string& model, const std::string& number, const Make& make);

  std::vector<ModelState> index();
  bool is_ready() const;  ///< nothing that was to be served is not

  using Done = std::function<void(std::optional<RequestError>)>;
  /// The newest version, loaded by another thread, which tells `done`. Throws RequestError(kNotFound, kBusy).
  void load(const std::string& model, Done done);
  void unload(const std::string& model, Done done);

  void close();  ///< computes what is queued; takes no more
  void update_gauges();

 private:
  struct Model {
    std::string folder;  ///< of its versions; "" where the flags name its files
    std::shared_ptr<Version> current;
    bool wanted = true;
    bool failed = false;  ///< at the start, and is tried again
    std::string reason;
  };

  void look_for_models();
  void post(const std::string& model, std::function<void()> task);
  void load_at_start();
  bool try_to_load(const std::string& model);
  void try_again(const std::stop_token& stop);
  void load_now(const std::string& model);
  void replace(const std::string& model, std::shared_ptr<Version> version);

  const tools::Arguments arguments_;
  const std::string folder_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::map<std::string, Model> models_;
  bool closed_ = false;
  std::optional<http::TaskThreads> loader_;
  std::jthread retrier_;
};

}  // namespace cortado::server
