// A permutation is a loop over rows and one along each row. The row is the longer of the last axes of y and x, so that
// at least one side is read or written in order.

#include <algorithm>

#include "layers/common/loops/permutation.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

/// The axes of the rows, in an array that is passed to devices.
template <size_t N>
struct Digits {
  int count;
  Permutation::Axis axis[N];
};

template <typename T, size_t N>
struct MoveRow {
  const T* from;
  T* to;
  Digits<N> rows;
  Permutation::Axis along;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    int64_t left = row, source = 0, target = 0;
    for (int k = int(N) - 1; k >= 0; --k) {
      if (k >= rows.count) continue;
      const Permutation::Axis& axis = rows.axis[k];
      const int64_t next = left / axis.extent, digit = left - next * axis.extent;
      source += digit * axis.from;
      target += digit * axis.to;
      left = next;
    }
    const int64_t place = i - row * along.extent;
    to[target + place * along.to] = from[source + place * along.from];
  }
};

/// For few axes, the usual case: the compiler hoists the index arithmetic out of the loop along the row.
template <typename T>
using MoveFew = MoveRow<T, 4>;
template <typename T>
using MoveMany = MoveRow<T, Shape::kMaxAxes>;

}  // namespace

Permutation::Permutation(const Shape& x, const std::vector<int>& order) {
  std::vector<int64_t> from(order.size());
  for (size_t k = 0; k < order.size(); ++k) from[k] = x.count(order[k] + 1);
  int64_t to = 1;
  for (size_t k = order.size(); k-- > 0;) {
    axes_.push_back({x[order[k]], from[k], to});
    to *= x[order[k]];
  }
  std::reverse(axes_.begin(), axes_.end());
  arrange();
}

Permutation Permutation::inverse() const {
  Permutation back = *this;
  for (Axis& axis : back.axes_) std::swap(axis.from, axis.to);
  return back;
}

/// Merges axes that are adjacent on both sides, and moves that of the rows to the end.
void Permutation::arrange() {
  std::vector<Axis> joined;
  for (const Axis& axis : axes_) {
    if (axis.extent == 1) continue;
    const bool joins =
        !joined.empty() && joined.back().from == axis.extent * axis.from && joined.back().to == axis.extent * axis.to;
    if (joins)
      joined.back() = {joined.back().extent * axis.extent, axis.from, axis.to};
    else
      joined.push_back(axis);
  }
  axes_ = joined;
  stays_ = axes_.size() <= 1;
  if (stays_) return;
  const auto last_of_x = std::find_if(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.from == 1; });
  if (last_of_x != axes_.end() && last_of_x->extent > axes_.back().extent)
    std::rotate(last_of_x, last_of_x + 1, axes_.end());
}

template <template <typename> class Functor, size_t N>
void Permutation::run_rows(Context& context, const Tensor& from, const Tensor& to) const {
  Digits<N> rows{int(axes_.size()) - 1, {}};
  int64_t count = 1;
  for (size_t k = 0; k + 1 < axes_.size(); ++k) {
    rows.axis[k] = axes_[k];
    count *= axes_[k].extent;
  }
  const ChannelView view{1, count, axes_.back().extent, Layout::kPlain};
  for_each_channel_typed<Functor>(context, view, from, to, rows, axes_.back());
}

void Permutation::run(Context& context, const Tensor& from, const Tensor& to) const {
  if (from.count() == 0) return;
  if (axes_.size() <= 5)
    run_rows<MoveFew, 4>(context, from, to);
  else
    run_rows<MoveMany, Shape::kMaxAxes>(context, from, to);
}

void PermutingLayer::permute(const Permutation& permutation) {
  there_ = permutation;
  back_ = permutation.inverse();
}

LayerNeeds PermutingLayer::prepare(const PrepareRequest&, Context&) {
  LayerNeeds needs;
  needs.aliasing.view = needs.aliasing.dx_is_dy = there_.stays();
  needs.can_recompute_y = !there_.stays();
  return needs;
}

void PermutingLayer::forward(Context& context, const Operands& io) {
  if (!there_.stays()) there_.run(context, io.x[0], io.y[0]);
}

void PermutingLayer::backward(Context& context, const Operands& io) {
  if (!back_.stays()) back_.run(context, io.dy[0], io.dx[0]);
}

}  // namespace cortado
