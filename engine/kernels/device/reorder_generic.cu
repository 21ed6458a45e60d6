// Conversions of layouts and float types, with one load and one store per value.

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/device/cast.h"
#include "kernels/device/planes.h"
#include "kernels/reorder.h"

namespace cortado::kernels {
namespace {

template <typename From, typename To>
struct Move {
  Planes from_planes, to_planes;
  const From* from;
  To* to;

  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(From)), n * int64_t(sizeof(To))}; }
  CORTADO_HD void operator()(int64_t i) const { to[i] = To(float(from[from_planes.at(to_planes.stored(i))])); }
};

class ReorderGeneric final : public Reorder {
 public:
  explicit ReorderGeneric(const ReorderRequest& request) : r_(request) {}

  std::string name() const override { return "plain"; }

  void run(Context& context, const void* from, void* to, void*) override {
    const Planes source = planes_of(r_.from), target = planes_of(r_.to);
    with_float_type(r_.from.dtype, [&](auto from_type) {
      with_float_type(r_.to.dtype, [&](auto to_type) {
        using From = decltype(from_type);
        using To = decltype(to_type);
        const From* x = static_cast<const From*>(from);
        To* y = static_cast<To*>(to);
        if (source.last == target.last)
          for_each(context, target.count(), Cast<From, To>{x, y});
        else
          for_each(context, target.count(), Move<From, To>{source, target, x, y});
      });
    });
  }

 private:
  ReorderRequest r_;
};

}  // namespace

std::unique_ptr<Reorder> make_reorder_generic(const ReorderRequest& request, Context&, std::string& why) {
  if (!is_plane_layout(request.from.layout, why) || !is_plane_layout(request.to.layout, why)) return nullptr;
  return std::make_unique<ReorderGeneric>(request);
}

}  // namespace cortado::kernels
