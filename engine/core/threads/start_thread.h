#pragma once

#include <functional>
#include <thread>

namespace cortado {

/// A thread that runs `body`, which does not throw. Throws Error(kDevice) where the system gives no more threads.
std::jthread start_thread(std::function<void()> body);

}  // namespace cortado
