#pragma once

// The REST paths: the Open Inference Protocol, version 2, with its extensions for the repository, configuration and
// statistics; image classification; metrics; the page.

#include <functional>
#include <string>
#include <vector>

#include "http/origin.h"
#include "server/metrics/metrics.h"
#include "server/models/repository.h"
#include "server/server_names.h"
#include "server/token.h"

namespace cortado::server {

class Api : public Handler {
 public:
  Api(Repository& repository, Metrics& metrics, const Token& token, http::Origins origins)
      : repository_(repository), metrics_(metrics), token_(token), origins_(std::move(origins)) {}

  std::shared_ptr<void> admit(const Head& head) override;
  void handle(const std::shared_ptr<Call>& call) override;
  void complete(const Head& head, Reply& reply) override { origins_.add_headers(head, reply); }

  void set_draining() { draining_ = true; }
  /// A function that returns the number of connections, for metrics. Must be set before the first request.
  void set_connections(std::function<size_t()> count) { connections_ = std::move(count); }

 private:
  /// The segments that match "*": a model's name, then its version.
  using Names = std::vector<std::string>;
  struct Route {
    const char *method, *path;
    void (Api::*run)(const std::shared_ptr<Call>& call, const Names& names);
    bool open = false;  ///< needs no token: it reveals nothing
  };
  static const std::vector<Route>& routes();
  /// Throws RequestError(kNotFound, kNoMethod).
  static const Route& route_of(const Head& head, Names& names);

  std::shared_ptr<Version> version_of(const Names& names) const;
  void page(const std::shared_ptr<Call>& call, const Names& names);
  void metrics(const std::shared_ptr<Call>& call, const Names& names);
  void live(const std::shared_ptr<Call>& call, const Names& names);
  void ready(const std::shared_ptr<Call>& call, const Names& names);
  void server_metadata(const std::shared_ptr<Call>& call, const Names& names);
  void model_metadata(const std::shared_ptr<Call>& call, const Names& names);
  void model_ready(const std::shared_ptr<Call>& call, const Names& names);
  void config(const std::shared_ptr<Call>& call, const Names& names);
  void infer(const std::shared_ptr<Call>& call, const Names& names);
  void all_statistics(const std::shared_ptr<Call>& call, const Names& names);
  void statistics(const std::shared_ptr<Call>& call, const Names& names);
  void index(const std::shared_ptr<Call>& call, const Names& names);
  void load(const std::shared_ptr<Call>& call, const Names& names);
  void unload(const std::shared_ptr<Call>& call, const Names& names);
  void classify(const std::shared_ptr<Call>& call, const Names& names);

  Repository& repository_;
  Metrics& metrics_;
  const Token& token_;
  const http::Origins origins_;
  std::atomic<bool> draining_ = false;
  std::function<size_t()> connections_;
  http::TaskThreads decoder_{64};  ///< decodes images
};

}  // namespace cortado::server
