#include "server/models/repository.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "server/models/model_folder.h"
#include "tools/program/failure.h"

namespace cortado::server {

namespace {

constexpr size_t kMaxLoads = 8;
constexpr std::chrono::seconds kRetry(5);

/// The name of the model of --model.
std::string name_of(const tools::Arguments& arguments) {
  std::string name = arguments.text("name");
  if (name.empty()) name = std::filesystem::path(arguments.text("model")).stem().string();
  if (!is_model_name(name))
    throw Error(ExitCode::kUsage, "'" + name + "' is not a valid model name",
                "set --name to letters, digits, '.', '_' and '-'");
  return name;
}

}  // namespace

Repository::Repository(const tools::Arguments& arguments, Metrics& metrics)
    : arguments_(arguments), folder_(arguments.text("models")), metrics_(metrics) {
  if (!arguments.has("model") && folder_.empty())
    throw Error(ExitCode::kUsage, "no model is given", "use --model=NET --weights=FILE, or --models=FOLDER");
  if (arguments.has("model")) models_[name_of(arguments)] = {};
  look_for_models();
  if (models_.empty())
    throw Error(ExitCode::kIo, folder_ + ": the folder has no models",
                "store a model as FOLDER/NAME/VERSION/deploy.prototxt");
  load_at_start();
  loader_.emplace(kMaxLoads);
  retrier_ = std::jthread([this](const std::stop_token& stop) { try_again(stop); });
}

void Repository::load_at_start() {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_) names.push_back(name);
  size_t loaded = 0;
  for (const std::string& name : names) {
    const bool must_load = models_[name].folder.empty() || (loaded == 0 && name == names.back());
    if (must_load)
      load_now(name);
    else if (!try_to_load(name))
      continue;
    ++loaded;
  }
}

/// Logs a failure, once for each reason, and stores it for the index.
bool Repository::try_to_load(const std::string& model) {
  std::string why;
  try {
    load_now(model);
    return true;
  } catch (...) {
    why = tools::current_failure().text;
  }
  const std::lock_guard lock(mutex_);
  Model& place = models_.at(model);
  if (place.reason != why) log_error() << "model " << model << " cannot be loaded and will be retried: " << why;
  place.reason = why;
  place.failed = true;
  place.wanted = false;
  return false;
}

/// Retries failed models, because files may have been incomplete while they were copied.
void Repository::try_again(const std::stop_token& stop) {
  std::mutex waiting;
  std::condition_variable_any wake;
  std::unique_lock wait(waiting);
  while (!wake.wait_for(wait, stop, kRetry, [&] { return stop.stop_requested(); })) {
    std::vector<std::string> failed;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, model] : models_)
        if (model.failed) failed.push_back(name);
    }
    for (const std::string& name : failed) {
      try {
        post(name, [this, name] { try_to_load(name); });
      } catch (const RequestError&) {  // the loader is busy; retried at the next interval
      }
    }
  }
}

Repository::~Repository() { close(); }

std::shared_ptr<Version> Repository::find(const std::string& model, const std::string& number) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) throw RequestError(Refusal::kNotFound, "unknown model '" + model + "'");
  const std::shared_ptr<Version>& current = found->second.current;
  if (!current) throw RequestError(Refusal::kUnavailable, "model '" + model + "' is not loaded");
  if (!number.empty() && number != current->number())
    throw RequestError(Refusal::kNotFound,
                       "model '" + model + "' has version " + current->number() + ", not '" + number + "'");
  return current;
}

std::vector<std::shared_ptr<Version>> Repository::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Version>> versions;
  for (const auto& [name, model] : models_)
    if (model.current) versions.push_back(model.current);
  return versions;
}

std::shared_ptr<Version> Repository::only() const {
  const auto versions = all();
  if (versions.size() == 1) return versions[0];
  throw RequestError(Refusal::kInvalid, std::to_string(versions.size()) + " models are served; name one");
}

void Repository::submit(const std::string& model, const std::string& number, const Make& make) {
  for (;;) {
    const std::shared_ptr<Version> version = find(model, number);
    const RequestPtr request = make(version);
    version->check(*request);
    if (version->batcher().submit(request)) return;
    const std::lock_guard lock(mutex_);
    if (closed_) throw RequestError(Refusal::kUnavailable, "the server is shutting down");
  }
}

std::vector<ModelState> Repository::index() {
  look_for_models();
  const std::lock_guard lock(mutex_);
  std::vector<ModelState> states;
  for (const auto& [name, model] : models_)
    states.push_back({name, model.current ? model.current->number() : "", bool(model.current), model.reason});
  return states;
}

bool Repository::is_ready() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, model] : models_)
    if (model.wanted && !model.current) return false;
  return !closed_;
}

void Repository::load(const std::string& model, Done done) {
  look_for_models();
  post(model, [this, model, done = std::move(done)] {
    std::optional<RequestError> failure;
    try {
      load_now(model);
    } catch (const Error& error) {
      log_error() << "model " << model << ": " << error.what();
      failure.emplace(Refusal::kInvalid, "model '" + model + "' cannot be loaded: " + error.mistakes()[0].message);
    } catch (...) {
      failure = current_request_error();
    }
    done(failure);
  });
}

void Repository::unload(const std::string& model, Done done) {
  post(model, [this, model, done = std::move(done)] {
    replace(model, nullptr);
    log_info() << "model " << model << " is unloaded";
    done({});
  });
}

void Repository::close() {
  retrier_ = {};
  loader_.reset();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (const std::shared_ptr<Version>& version : all()) version->batcher().close();
}

void Repository::update_gauges() {
  for (const std::shared_ptr<Version>& version : all())
    metrics_.set_queued(version->model(), version->batcher().queued());
}

/// Adds new models of the folder. Models whose folder was removed stay until they are unloaded.
void Repository::look_for_models() {
  if (folder_.empty()) return;
  const std::vector<std::string> names = models_in(folder_);
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names)
    if (const auto [model, is_new] = models_.try_emplace(name); is_new) {
      model->second.folder = join_path(folder_, name);
      model->second.wanted = !loader_;
      model->second.reason = "it is not loaded yet";
    }
}

void Repository::post(const std::string& model, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!models_.contains(model)) throw RequestError(Refusal::kNotFound, "unknown model '" + model + "'");
  if (!loader_) throw RequestError(Refusal::kUnavailable, "the server is shutting down");
  loader_->post(std::move(task));
}

/// If it throws Error the current version stays in service.
void Repository::load_now(const std::string& model) {
  std::string folder;
  {
    const std::lock_guard lock(mutex_);
    folder = models_.at(model).folder;
  }
  const std::string number = folder.empty() ? "1" : newest_version(folder);
  if (number.empty())
    throw Error(ExitCode::kIo, folder + ": the model has no version", "store it in a folder whose name is a number");
  const tools::Arguments arguments = folder.empty() ? arguments_ : arguments_for(arguments_, join_path(folder, number));
  replace(model, std::make_shared<Version>(model, number, arguments, metrics_.of_model(model)));
  log_info() << "model " << model << ", version " << number << ", is served";
}

void Repository::replace(const std::string& model, std::shared_ptr<Version> version) {
  {
    const std::lock_guard lock(mutex_);
    Model& place = models_.at(model);
    place.wanted = bool(version);
    place.failed = false;
    place.reason = version ? "" : "it was unloaded";
    place.current.swap(version);
  }
  if (version) version->batcher().close();
}

}  // namespace cortado::server
