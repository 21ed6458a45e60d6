#pragma once

// Routing of requests. Files of the page are answered at once, everything else by threads that may block.

#include "http/message.h"
#include "http/task_threads.h"
#include "studio/access.h"
#include "studio/workplace.h"

namespace cortado::studio {

class Api : public http::Handler {
 public:
  Api(Workplace& place, const Access& access);

  std::shared_ptr<void> admit(const http::Head& head) override;
  void handle(const std::shared_ptr<http::Call>& call) override;

 private:
  /// Throws RequestError(kNotFound, kNoMethod).
  const Route& route_of(const http::Head& head) const;

  const Access& access_;
  Routes routes_;
  http::TaskThreads threads_{64, 8};
};

}  // namespace cortado::studio
