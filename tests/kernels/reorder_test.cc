// Every candidate between every pair of layouts: equal values, zeros in padding lanes.

#include "kernels/reorder.h"

#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using namespace testing;

using Make = std::unique_ptr<Reorder> (*)(const ReorderRequest&, Context&, std::string&);

constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16};

void check(Make make, const TensorSpec& from, const TensorSpec& to, DeviceKind kind = DeviceKind::kCpu) {
  SCOPED_TRACE(from.shape.str() + " " + name_of(from.dtype) + " " + name_of(from.layout) + " -> " + name_of(to.dtype) +
               " " + name_of(to.layout));
  Context context = context_on(kind);
  std::string why;
  const ReorderRequest request{from, to};
  const auto reorder = make(request, context, why);
  ASSERT_TRUE(reorder) << why;
  const Values values = rounded(random_values(from.shape.count(), 1), from.dtype);
  const Operand x(context, from, values), y(context, to);
  const Fenced scratch(context, reorder->scratch());
  reorder->run(context, x.data(), y.data(), scratch.data());
  EXPECT_EQ(y.values(), rounded(values, to.dtype));
  scratch.expect_intact();
}

void check_all(Make make) {
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16};
  for (const Shape& shape :
       {Shape{2, 20, 5, 7}, Shape{3, 1, 4, 4}, Shape{2, 32, 1, 1}, Shape{1, 3, 9, 2}, Shape{7, 40, 16, 17}})
    for (const Layout from : kLayouts)
      for (const Layout to : kLayouts)
        for (const DType from_type : kTypes)
          for (const DType to_type : kTypes) check(make, {shape, from_type, from}, {shape, to_type, to});
}

TEST(Reorder, PlainChangesLayoutsAndTypesOnDevices) {
  for (const DeviceKind kind : devices()) {
    const Layout layouts[] = {Layout::kPlain, Layout::kChannelsLast};
    const DType types[] = {DType::kF32, DType::kF16, DType::kBF16};
    for (const Shape& shape : {Shape{2, 20, 5, 7}, Shape{3, 1, 4, 4}})
      for (const Layout from : layouts)
        for (const Layout to : layouts)
          for (const DType from_type : types)
            for (const DType to_type : types)
              check(make_reorder_generic, {shape, from_type, from}, {shape, to_type, to}, kind);
    check(make_reorder_generic, {{5, 6, 7}, DType::kF32}, {{5, 6, 7}, DType::kBF16}, kind);
    check(make_reorder_generic, {{}, DType::kF16}, {{}, DType::kF32}, kind);
  }
}

TEST(Reorder, HalvesOnTheCpuUsePlain) {
  Context context(1);
  EXPECT_EQ(plan_reorder({{{4, 4}, DType::kF32}, {{4, 4}, DType::kF16}}, context)->name(), "plain");
}

TEST(Reorder, OurOwnMovesEveryValue) { check_all(make_reorder_native); }
TEST(Reorder, OneDnnMovesEveryValue) { check_all(make_reorder_onednn); }

}  // namespace
}  // namespace cortado::kernels
