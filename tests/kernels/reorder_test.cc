// Every candidate between every pair of layouts: the same values, zeros in padding lanes.

#include "kernels/reorder.h"

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<Reorder> (*)(const ReorderRequest&, Context&, std::string&);

constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16};

void check(Make make, const Shape& shape, Layout from, Layout to) {
  SCOPED_TRACE(shape.str() + " " + name_of(from) + " -> " + name_of(to));
  Context context(2);
  std::string why;
  const ReorderRequest request{{shape, DType::kF32, from}, {shape, DType::kF32, to}};
  const auto reorder = make(request, context, why);
  ASSERT_TRUE(reorder) << why;
  const Values values = random_values(shape.count(), 1);
  const Operand x(request.from, values), y(request.to);
  const Fenced scratch(reorder->scratch());
  reorder->run(context, x.data(), y.data(), scratch.data());
  EXPECT_EQ(y.values(), values);
  scratch.expect_intact();
}

void check_all(Make make) {
  for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{3, 1, 4, 4}, Shape{2, 32, 1, 1}, Shape{1, 3, 9, 2}})
    for (const Layout from : kLayouts)
      for (const Layout to : kLayouts) check(make, shape, from, to);
}

TEST(Reorder, OursMovesEveryValue) { check_all(make_reorder_own); }
TEST(Reorder, OneDnnMovesEveryValue) { check_all(make_reorder_onednn); }

}  // namespace
}  // namespace cortado::kernels
