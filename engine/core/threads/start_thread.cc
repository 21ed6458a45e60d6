#include "core/threads/start_thread.h"

#include <system_error>

#include "core/error.h"

namespace cortado {

std::jthread start_thread(std::function<void()> body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(
        ExitCode::kDevice, "cannot start a thread: " + error.code().message(),
        "fewer --threads and --data-threads, or higher limits: `ulimit -u` counts threads, `ulimit -v` their memory");
  }
}

}  // namespace cortado
