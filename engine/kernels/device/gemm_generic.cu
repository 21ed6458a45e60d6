// Matrix products of any types. Each functor call computes a tile of the result and reuses its rows and columns from
// registers. Threads share nothing. Used where no library runs.

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/device/gemm_generic.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

constexpr int kSide = 2;   ///< side of a tile, if the result is large enough
constexpr int kLanes = 8;  ///< partial sums per element, in sum_of()'s order (kernels/device/products.h)

/// op(a) or op(b) as lines: the p-th value of line i is data[i * line + p * step].
template <typename T>
struct Lines {
  const T* data;
  int64_t count, line, step;

  /// Loads value p of Side lines from `first` on; past the end, that of the last line.
  template <int Side>
  CORTADO_HD void load(int64_t first, int64_t p, float (&values)[Side]) const {
    for (int i = 0; i < Side; ++i) {
      const int64_t at = first + i < count ? first + i : count - 1;
      values[i] = data[at * line + p * step];
    }
  }
};

template <typename A, typename B, typename C, int Side>
struct ProductTile {
  MatMulRequest r;
  const A* a;
  const B* b;
  C* c;
  float beta;
  const B* bias;
  Activation activation;

  int64_t tiles() const { return (r.adds_up ? 1 : r.count) * in_rows() * in_columns(); }
  /// As for a library that reads each operand once.
  Traffic traffic(int64_t) const {
    const GemmShape& s = r.shape;
    const auto matrices = [&](int64_t step) { return step == 0 ? 1 : r.count; };
    const int64_t written = (r.adds_up ? 1 : r.count) * s.m * s.n * int64_t(sizeof(C));
    return {matrices(r.step_a) * s.m * s.k * int64_t(sizeof(A)) + matrices(r.step_b) * s.k * s.n * int64_t(sizeof(B)) +
                (bias ? s.n * int64_t(sizeof(B)) : 0) + (beta != 0 ? written : 0),
            written};
  }
  CORTADO_HD void operator()(int64_t tile) const {
    const int64_t across = in_columns(), each = in_rows() * across, index = tile / each;
    const int64_t row = tile % each / across * Side, column = tile % across * Side;
    float sums[Side][Side] = {};
    for (int64_t i = r.adds_up ? 0 : index, end = r.adds_up ? r.count : index + 1; i < end; ++i)
      add_product(i, row, column, sums);
    store(index, row, column, sums);
  }

 private:
  CORTADO_HD int64_t in_rows() const { return (r.shape.m + Side - 1) / Side; }
  CORTADO_HD int64_t in_columns() const { return (r.shape.n + Side - 1) / Side; }

  CORTADO_HD void add_product(int64_t i, int64_t row, int64_t column, float (&sums)[Side][Side]) const {
    const GemmShape& s = r.shape;
    const Lines<A> rows{a + i * r.step_a, s.m, s.transpose_a ? 1 : s.k, s.transpose_a ? s.m : 1};
    const Lines<B> columns{b + i * r.step_b, s.n, s.transpose_b ? s.k : 1, s.transpose_b ? 1 : s.n};
    float lanes[Side][Side][kLanes] = {};
    const auto add = [&](int64_t p, int lane) {
      float left[Side], right[Side];
      rows.load(row, p, left);
      columns.load(column, p, right);
      for (int u = 0; u < Side; ++u)
        for (int v = 0; v < Side; ++v) lanes[u][v][lane] += left[u] * right[v];
    };
    int64_t p = 0;
    for (; p + kLanes <= s.k; p += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) add(p + lane, lane);
    for (int lane = 0; lane < kLanes; ++lane)
      if (p + lane < s.k) add(p + lane, lane);
    for (int u = 0; u < Side; ++u)
      for (int v = 0; v < Side; ++v) sums[u][v] += sum_of_lanes(lanes[u][v]);
  }

  CORTADO_HD void store(int64_t index, int64_t row, int64_t column, const float (&sums)[Side][Side]) const {
    const GemmShape& s = r.shape;
    for (int u = 0; u < Side; ++u)
      for (int v = 0; v < Side; ++v) {
        if (row + u >= s.m || column + v >= s.n) continue;
        C& to = c[(index * s.m + row + u) * s.n + column + v];
        const float sum = r.alpha * sums[u][v] + (beta != 0 ? beta * float(to) : 0.0f);
        to = C(finished(sum, bias, column + v, activation));
      }
  }
};

template <int Side, typename A, typename B, typename C>
void run_tiles(Context& context, const MatMulRequest& request, const A* a, const B* b, C* c, const GemmEnd& end) {
  const ProductTile<A, B, C, Side> tile{request, a, b, c, end.beta, static_cast<const B*>(end.bias), end.activation};
  for_each(context, tile.tiles(), tile);
}

class GemmGeneric final : public MatMul {
 public:
  explicit GemmGeneric(const MatMulRequest& request) : r_(request) {}
  std::string name() const override { return "plain"; }
  void run(Context& context, const void* a, const void* b, void* c, void*) override {
    if (r_.adds_up) state_sums(context);
    gemm_generic(context, r_, a, b, c);
  }

 private:
  /// Counts what kernels/cuda/matmul_cublaslt.cc does in addition: a launch per product, and one that rounds.
  void state_sums(Context& context) const {
    const int64_t values = r_.shape.m * r_.shape.n, sums = values * int64_t(sizeof(float)), more = r_.count - 1;
    state_launches(context, more, {more * sums, more * sums});
    if (r_.shape.c != DType::kF32) state_launches(context, 1, {sums, sums});
  }

  MatMulRequest r_;
};

}  // namespace

void gemm_generic(Context& context, const MatMulRequest& r, const void* a, const void* b, void* c, const GemmEnd& end) {
  with_float_type(r.shape.a, [&](auto a_type) {
    with_float_type(r.shape.b, [&](auto b_type) {
      with_float_type(r.shape.c, [&](auto c_type) {
        const auto* first = static_cast<const decltype(a_type)*>(a);
        const auto* second = static_cast<const decltype(b_type)*>(b);
        auto* sums = static_cast<decltype(c_type)*>(c);
        const bool thin = r.shape.m < kSide || r.shape.n < kSide;
        thin ? run_tiles<1>(context, r, first, second, sums, end)
             : run_tiles<kSide>(context, r, first, second, sums, end);
      });
    });
  });
}

std::unique_ptr<MatMul> make_matmul_generic(const MatMulRequest& request, Context&, std::string&) {
  return std::make_unique<GemmGeneric>(request);
}

}  // namespace cortado::kernels
