#include "core/context.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace cortado {
namespace {

static_assert(!std::is_copy_constructible_v<Context> && !std::is_copy_assignable_v<Context>);
static_assert(!std::is_move_constructible_v<Context> && !std::is_move_assignable_v<Context>);
static_assert(std::is_copy_constructible_v<ContextOptions> && std::is_copy_assignable_v<ContextOptions>);

struct Counter {
  int count = 0;
};

TEST(Context, CopiesItsOptions) {
  const Context context({.threads = 3,
                         .seed = 7,
                         .device = {DeviceKind::kSimulated, 0},
                         .precision = Precision::kBf16,
                         .captures = false});
  EXPECT_EQ(context.threads, 3);
  EXPECT_EQ(context.seed, 7u);
  EXPECT_TRUE(context.device.is_simulated());
  EXPECT_EQ(context.precision, Precision::kBf16);
  EXPECT_FALSE(context.captures);
  EXPECT_EQ(context.stream(), nullptr);
}

TEST(Context, UpToFourThreadsHaveEquallyManyPieces) {
  for (const int threads : {1, 2, 3, 4}) EXPECT_EQ(Context(threads).pieces, 8) << threads;
  for (const int threads : {5, 8, 64}) EXPECT_EQ(Context(threads).pieces, 2 * threads);
}

TEST(Context, HandlesBelongToOneContext) {
  const ContextOptions options;
  Context a(options), b(options);
  ++a.handle<Counter>().count;
  EXPECT_EQ(&a.handle<Counter>(), &a.handle<Counter>());
  EXPECT_NE(&a.handle<Counter>(), &b.handle<Counter>());
  EXPECT_EQ(a.handle<Counter>().count, 1);
  EXPECT_EQ(b.handle<Counter>().count, 0);
}

struct Watched {
  std::shared_ptr<int> held;
};

TEST(Context, DestroysItsHandles) {
  const auto watched = std::make_shared<int>(0);
  {
    Context context;
    context.handle<Watched>().held = watched;
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

}  // namespace
}  // namespace cortado
