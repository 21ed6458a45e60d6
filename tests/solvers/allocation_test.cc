// Once training runs, an iteration allocates nothing: every operator new of this program is counted.

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/solvers/training.h"

namespace {
std::atomic<long> allocations{0};
}

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cortado {
namespace {

TEST(Allocation, NoneInAnIteration) {
  for (const char* options :
       {"momentum: 0.9 weight_decay: 0.1", "type: \"Adam\" iter_size: 3 clip_gradients: 1 average_loss: 5",
        "type: \"AdaDelta\" momentum: 0.9 lr_policy: \"step\" gamma: 0.5 stepsize: 7"}) {
    Folder folder;
    Context context(1);
    Solver solver(tiny_solver(folder, std::string(options) + " max_iter: 100"), {}, context);
    solver.step(10);
    const long before = allocations;
    solver.step(50);
    EXPECT_EQ(allocations - before, 0) << options;
  }
}

}  // namespace
}  // namespace cortado
