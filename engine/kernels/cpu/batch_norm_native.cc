// Our own batch normalization. The result of a group (batch_norm_runs.h) is computed right after its statistics, while
// it is cached, so memory is read and written once and threads synchronize once.
//
//   forward   mean and variance from sums of x - shift and its square, where shift, the channel's first value, keeps
//             the sums small
//   backward  with g = dy where the ReLU passed, else 0:  dbeta = sum g,  dgamma = sum g (x - mean) / std,
//             dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma / m)       (m values per channel)
//             daddend = g, written with the sums; dx is then computed from it
//
// Without an addend the ReLU needs no mask: backward repeats forward's arithmetic on x bit for bit and tests the sign.
// Sums within a sample are 32-bit; samples are summed in double and in order, so results are bitwise independent of the
// number of threads.

#include <cmath>
#include <type_traits>

#include "kernels/batch_norm.h"
#include "kernels/cpu/batch_norm_runs.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"

namespace cortado::kernels {
namespace {

/// How backward finds where the ReLU passed: always (without a ReLU), from x, from forward's bits, from y.
enum class Gate : uint8_t { kOpen, kOfX, kOfBits, kOfY };

template <typename Use>
void with_bool(bool value, const Use& use) {
  value ? use(std::true_type()) : use(std::false_type());
}

/// For values stored as T: float or BFloat16.
template <typename T>
class Own final : public BatchNorm {
 public:
  Own(const BatchNormRequest& request, int pieces)
      : request_(request),
        runs_(runs_of(request.x)),
        passes_(runs_, pieces),
        count_(double(std::max<int64_t>(1, request.x.shape[0] * request.x.shape.count(2)))),
        // Results larger than the second-level cache are written with non-temporal stores, which do not read the old
        // lines.
        streaming_(request.x.bytes() > (int64_t(4) << 20) && runs_.length % kLanes == 0 && runs_.length > kLanes) {}

  std::string name() const override { return "own"; }
  int64_t forward_scratch() const override { return scratch_sums() + 3 * group_bytes(); }
  int64_t backward_scratch() const override { return scratch_sums() + 3 * group_bytes(); }
  int64_t mask_bytes() const override {
    if (!request_.post.sum || !request_.post.activation) return 0;
    return runs_.words(runs_.samples, 0) * int64_t(sizeof(uint16_t));
  }

  void forward(Context& context, const BatchNormOperands& io) override {
    if (runs_.samples * runs_.length == 0) return set_empty(io);
    with_bool(request_.post.sum, [&](auto adds) {
      with_activation(request_.post.activation.kind, [&](auto constant) {
        constexpr Activation::Kind kind = decltype(constant)::value;
        if constexpr (Activation{kind}.gates())
          with_bool(streams(io.y, {io.x, io.addend}),
                    [&](auto streaming) { forward_as<adds, kind, streaming>(context, io); });
      });
    });
  }

  void backward(Context& context, const BatchNormOperands& io) override {
    with_bool(streams(io.dx, {io.x, io.dy, io.daddend}), [&](auto streaming) {
      switch (gate(io)) {
        case Gate::kOpen:
          return backward_as<Gate::kOpen, streaming>(context, io);
        case Gate::kOfX:
          return backward_as<Gate::kOfX, streaming>(context, io);
        case Gate::kOfBits:
          return backward_as<Gate::kOfBits, streaming>(context, io);
        case Gate::kOfY:
          return backward_as<Gate::kOfY, streaming>(context, io);
      }
    });
  }

 private:
  static const T* values(const void* operand) { return static_cast<const T*>(operand); }
  static T* values(void* operand) { return static_cast<T*>(operand); }

  Gate gate(const BatchNormOperands& io) const {
    if (!request_.post.activation) return Gate::kOpen;
    return !request_.post.sum ? Gate::kOfX : io.mask ? Gate::kOfBits : Gate::kOfY;
  }
  int64_t group_bytes() const { return runs_.groups * int64_t(sizeof(Vec16f)); }
  int64_t scratch_sums() const { return (passes_.scratch() + 63) / 64 * 64; }

  /// Whether to write a result with non-temporal stores; never over data that was just read.
  bool streams(const void* to, std::initializer_list<const void*> from) const {
    return streaming_ && std::find(from.begin(), from.end(), to) == from.end() &&
           reinterpret_cast<uintptr_t>(to) % (kLanes * sizeof(T)) == 0;
  }

  void set_empty(const BatchNormOperands& io) const {
    if (request_.given_statistics) return;
    std::fill_n(io.mean, runs_.channels, 0.0f);
    std::fill_n(io.variance, runs_.channels, 0.0f);
  }

  /// gamma / std of a group; 0 in padding lanes, so that they stay 0.
  Vec16f slope(const BatchNormOperands& io, int64_t g) const {
    float a[kLanes], gamma[kLanes];
    store(a, runs_.of_group(io.variance, g));
    store(gamma, runs_.of_group(io.gamma, g, 1));
    const int width = runs_.lanes_are_channels ? runs_.width(g) : kLanes;
    for (int i = 0; i < kLanes; ++i) a[i] = i < width ? gamma[i] / std::sqrt(a[i] + request_.eps) : 0;
    return load(a);
  }

  /// Sets the mean and variance of a group from sums of (x - shift) and its square.
  void set_statistics(const BatchNormOperands& io, int64_t g, Sums sums) const {
    if (!runs_.lanes_are_channels) sums.join_lanes();
    const Lanes shift = lanes_of(shift_of(io, g));
    float mean[kLanes], variance[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const double d = sums.a[i] / count_;
      mean[i] = float(double(shift[i]) + d);
      variance[i] = float(std::max(0.0, sums.b[i] / count_ - d * d));
      if (sums.b[i] != sums.b[i]) variance[i] = float(sums.b[i]);  // max() would hide NaN
    }
    runs_.set_group(io.mean, g, load(mean));
    runs_.set_group(io.variance, g, load(variance));
  }

  Vec16f shift_of(const BatchNormOperands& io, int64_t g) const {
    const T* first = values(io.x) + runs_.offset(0, g);
    return runs_.lanes_are_channels ? load_some(first, runs_.width(g)) : spread(float(first[0]));
  }

  void sum_squares(const BatchNormOperands& io, int64_t g, int64_t n, Sums& sums) const {
    const T* x = values(io.x) + runs_.offset(n, g);
    alignas(64) float shift[kLanes];
    store(shift, shift_of(io, g));
    sum_run(
        runs_.run(g),
        [&](int64_t i, const auto& at, Vec16f& a, Vec16f& b) {
          const Vec16f d = at.load(x + i) - at.load(shift);
          a += d;
          b += d * d;
        },
        sums);
  }

  uint16_t* bits_of(const BatchNormOperands& io, int64_t g, int64_t n) const {
    return static_cast<uint16_t*>(io.mask) + (io.mask ? runs_.words(n, g) : 0);
  }

  template <bool adds, Activation::Kind kind, bool streaming>
  void write_y(const BatchNormOperands& io, int64_t g, int64_t n) const {
    const Vec16f mean = runs_.of_group(io.mean, g), a = slope(io, g), beta = runs_.of_group(io.beta, g);
    const Vec16f ceiling = spread(request_.post.activation.ceiling);
    const int64_t begin = runs_.offset(n, g);
    const T *x = values(io.x) + begin, *addend = values(io.addend) + (adds ? begin : 0);
    uint16_t* bits = bits_of(io, g, n);
    map_run<streaming>(runs_.run(g), values(io.y) + begin, [&](int64_t i, const auto& at) {
      Vec16f v = (at.load(x + i) - mean) * a + beta;
      if constexpr (adds) v += at.load(addend + i);
      if constexpr (adds && kind != Activation::kNone)
        if (bits) bits[i / kLanes] = passing(ceiling, v);
      return activated(kind, ceiling, v);
    });
  }

  template <bool adds, Activation::Kind kind, bool streaming>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const auto sum = [&](int64_t g, int64_t n, Sums& sums) {
      if (!request_.given_statistics) sum_squares(io, g, n, sums);
    };
    const auto finish = [&](int64_t g, const Sums& sums) {
      if (!request_.given_statistics) set_statistics(io, g, sums);
    };
    const auto map = [&](int64_t g, int64_t n) { write_y<adds, kind, streaming>(io, g, n); };
    passes_.run(context, io.scratch, sum, finish, map);
  }

  /// The inputs of a run's gate.
  struct Gated {
    Vec16f a, beta, ceiling;
    const uint16_t* bits;
    const T* y;
  };
  Gated gated(const BatchNormOperands& io, int64_t g, int64_t n) const {
    return {slope(io, g), runs_.of_group(io.beta, g), spread(request_.post.activation.ceiling), bits_of(io, g, n),
            values(io.y) + (io.y ? runs_.offset(n, g) : 0)};
  }

  /// dy from position i of a run on, or 0 where the ReLU stopped it.
  template <Gate gate, typename At>
  static Vec16f passed(const Vec16f& dy, const Vec16f& centred, const Gated& k, int64_t i, const At& at) {
    if constexpr (gate == Gate::kOpen) return dy;
    if constexpr (gate == Gate::kOfBits) return where(k.bits[i / kLanes], dy);
    const Vec16f v = gate == Gate::kOfY ? at.load(k.y + i) : centred * k.a + k.beta;
    return kernels::passed(k.ceiling, v, dy);
  }

  /// Adds g and g (x - mean) over a run to the sums; writes g to daddend if requested and not there yet.
  template <Gate gate>
  void insert_splits(const BatchNormOperands& io, int64_t g, int64_t n, Sums& sums) const {
    const int64_t begin = runs_.offset(n, g);
    const T *x = values(io.x) + begin, *dy = values(io.dy) + begin;
    T* daddend = writes_daddend(io) ? values(io.daddend) + begin : nullptr;
    alignas(64) float mean[kLanes];
    store(mean, runs_.of_group(io.mean, g));
    const Gated k = gated(io, g, n);
    sum_run(
        runs_.run(g),
        [&](int64_t i, const auto& at, Vec16f& sum_g, Vec16f& sum_gx) {
          const Vec16f centred = at.load(x + i) - at.load(mean);
          const Vec16f passing = passed<gate>(at.load(dy + i), centred, k, i, at);
          if (daddend) at.store(daddend + i, passing);
          sum_g += passing;
          sum_gx += passing * centred;
        },
        sums);
  }

  bool writes_daddend(const BatchNormOperands& io) const {
    return io.daddend && (request_.post.activation || io.daddend != io.dy);
  }

  void add_to(float* result, bool add, int64_t g, Vec16f value) const {
    if (!result) return;
    if (add) value += runs_.of_group(result, g);
    runs_.set_group(result, g, value);
  }

  /// Computes a group's dgamma, dbeta, and the coefficients of dx = a g + by_x (x - mean) + rest.
  void finish_gradients(const BatchNormOperands& io, int64_t g, Sums sums, Vec16f& by_x, Vec16f& rest) const {
    if (!runs_.lanes_are_channels) sums.join_lanes();
    const Lanes a = lanes_of(slope(io, g)), variance = lanes_of(runs_.of_group(io.variance, g));
    Lanes dgamma, dbeta, factor, term;
    for (int i = 0; i < kLanes; ++i) {
      const double inverse = 1 / std::sqrt(double(variance[i]) + double(request_.eps));
      dgamma[i] = float(sums.b[i] * inverse);
      dbeta[i] = float(sums.a[i]);
      factor[i] = request_.given_statistics ? 0 : float(-double(a[i]) * inverse * inverse * sums.b[i] / count_);
      term[i] = request_.given_statistics ? 0 : float(-double(a[i]) * sums.a[i] / count_);
    }
    by_x = load(factor.of);
    rest = load(term.of);
    add_to(io.dgamma, io.add_dgamma, g, load(dgamma.of));
    add_to(io.dbeta, io.add_dbeta, g, load(dbeta.of));
  }

  template <Gate gate, bool streaming>
  void write_dx(const BatchNormOperands& io, const void* from, int64_t g, int64_t n, const Vec16f& by_x,
                const Vec16f& rest) const {
    const int64_t begin = runs_.offset(n, g);
    const T *x = values(io.x) + begin, *dy = values(from) + begin;
    const Vec16f mean = runs_.of_group(io.mean, g);
    const Gated k = gated(io, g, n);
    map_run<streaming>(runs_.run(g), values(io.dx) + begin, [&](int64_t i, const auto& at) {
      const Vec16f centred = at.load(x + i) - mean;
      return k.a * passed<gate>(at.load(dy + i), centred, k, i, at) + by_x * centred + rest;
    });
  }

  template <Gate gate, bool streaming>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const bool sums_wanted = io.dgamma || io.dbeta || !request_.given_statistics || writes_daddend(io);
    Vec16f* by_x = static_cast<Vec16f*>(scratch_at(io.scratch, 0));
    Vec16f* rest = static_cast<Vec16f*>(scratch_at(io.scratch, 1));
    const auto sum = [&](int64_t g, int64_t n, Sums& sums) {
      if (sums_wanted) insert_splits<gate>(io, g, n, sums);
    };
    const auto finish = [&](int64_t g, const Sums& sums) { finish_gradients(io, g, sums, by_x[g], rest[g]); };
    const auto map = [&](int64_t g, int64_t n) {
      if (!io.dx) return;
      if (io.daddend)
        write_dx<Gate::kOpen, streaming>(io, io.daddend, g, n, by_x[g], rest[g]);
      else
        write_dx<gate, streaming>(io, io.dy, g, n, by_x[g], rest[g]);
    };
    passes_.run(context, io.scratch, sum, finish, map);
  }

  void* scratch_at(void* scratch, int64_t part) const {
    return static_cast<std::byte*>(scratch) + scratch_sums() + part * group_bytes();
  }

  BatchNormRequest request_;
  Runs runs_;
  TwoPasses passes_;
  double count_;
  bool streaming_;
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_native(const BatchNormRequest& request, Context& context, std::string& why) {
  if (!takes_halves(request.x.dtype, why)) return nullptr;
  if (request.sums_given || request.writes_map || request.maps_addend || request.two_dy)
    return why = "fused statistics and maps are for devices", nullptr;
  return with_half_type(request.x.dtype, [&](auto type) -> std::unique_ptr<BatchNorm> {
    return std::make_unique<Own<decltype(type)>>(request, context.pieces);
  });
}

}  // namespace cortado::kernels
