// Once training runs, an iteration allocates nothing: every operator new of this program is counted, apart from those
// that oneDNN makes while it works, and so is the memory of arenas, which tensors live in.

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/solvers/training.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

bool is_of_library(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  if (counting && !is_of_library(__builtin_return_address(0))) ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
// The library's own nothrow form would not come here under a sanitizer, but its delete would.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  if (counting && !is_of_library(__builtin_return_address(0))) ++allocations;
  return std::malloc(size ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cortado {
namespace {

long allocations_in(const std::function<void()>& act) {
  allocations = 0;
  counting = true;
  act();
  counting = false;
  return allocations;
}

TEST(Allocation, NoneInAnIteration) {
  EXPECT_GT(allocations_in([] { std::vector<int> some(100); }), 0) << "counting works";
  for (const char* options :
       {"momentum: 0.9 weight_decay: 0.1", "type: \"Adam\" iter_size: 3 clip_gradients: 1 average_loss: 5",
        "type: \"AdaDelta\" momentum: 0.9 lr_policy: \"step\" gamma: 0.5 stepsize: 7"}) {
    Folder folder;
    Context context(1);
    Solver solver(tiny_solver(folder, std::string(options) + " max_iter: 100"), {}, context);
    solver.step(10);
    const uint64_t taken = Arena::taken_bytes();
    EXPECT_GT(taken, 0u);
    EXPECT_EQ(allocations_in([&] { solver.step(50); }), 0) << options;
    EXPECT_EQ(Arena::taken_bytes(), taken) << options;
  }
}

}  // namespace
}  // namespace cortado
