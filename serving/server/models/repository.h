#pragma once

// The models by name. A model is replaced by loading its new version alongside the old one, swapping them, and letting
// the old one finish its requests: no request is lost.

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

/// A model in the repository's index.
struct ModelState {
  std::string name, version;  ///< "" if none is loaded
  bool ready = false;
  std::string reason;  ///< why it is not ready; may be empty
};

class Repository {
 public:
  /// Loads the model of --model and all in the folder of models. A model of the folder that cannot be loaded is logged
  /// and retried every few seconds, while the others are served. Throws Error if the model of --model, or all of the
  /// folder, cannot be loaded.
  Repository(const tools::Arguments& arguments, Metrics& metrics);
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// The version in service; with `number` only that one. Throws RequestError(kNotFound, kUnavailable).
  std::shared_ptr<Version> find(const std::string& model, const std::string& number = {}) const;
  std::vector<std::shared_ptr<Version>> all() const;  ///< in service
  /// The only model. Throws RequestError(kInvalid) if there are several.
  std::shared_ptr<Version> only() const;

  /// Queues the request that `make` returns for the version in service. If that version is replaced meanwhile, calls
  /// `make` for the next one. Throws RequestError, and what `make` throws.
  using Make = std::function<RequestPtr(const std::shared_ptr<Version>&)>;
  void submit(const std::string& model, const std::string& number, const Make& make);

  std::vector<ModelState> index();
  bool is_ready() const;  ///< all models that should be loaded are

  using Done = std::function<void(std::optional<RequestError>)>;
  /// Loads the newest version in another thread, which calls `done`. Throws RequestError(kNotFound, kBusy).
  void load(const std::string& model, Done done);
  void unload(const std::string& model, Done done);

  void close();  ///< answers queued requests and refuses new ones
  void update_gauges();

 private:
  struct Model {
    std::string folder;  ///< the folder of its versions; "" for the model of --model
    std::shared_ptr<Version> current;
    bool wanted = true;
    bool failed = false;  ///< loading failed and will be retried
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
