// Batch normalisation from the loops of core/for_each.h alone: one pass over x for its statistics, one for the result;
// back, one over x and dy for the sums, one for dx. Statistics come from sums of x - shift and its square, where shift,
// the channel's first value, keeps the sums small. Backward, with g = dy where the ReLU let it pass,
//     dbeta = sum g,  dgamma = sum g (x - mean) / std,
//     dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma / m),  daddend = g.
// As in kernels/cpu/batch_norm_own.cc the ReLU needs no mask where nothing is added: backward repeats forward's
// arithmetic on x and looks at the sign. With an addend it looks at y, or forward keeps a byte for each pack, one bit
// for each value; the pass that makes the sums turns dy into g, in its place where that is wanted, and the pass for dx
// reads g.
//
// All of it is bound by memory, so values move in packs of sixteen bytes (channel_packs.h), and a thread that makes
// results does four packs to one read of its channels' coefficients. Memory is busy when enough bytes are on their way:
// on an H100 about 17 KiB for each of its 132 multiprocessors (3.3 TB/s times 0.7 us). nvcc 13 gives sm_90's kernels of
// eight 16-bit values 64 (forward) to 113 registers (sums of gradients) and spills none, so at least 512 threads run on
// a multiprocessor, each with one or two packs on its way: 8 KiB or 16 KiB and more with what the compiler loads ahead.
// The passes that make sums use 2^16 threads for large tensors, which is 496 for each multiprocessor; more would only
// write more partial sums: 8 bytes for each channel and part, 4 MiB at 2^16 threads of eight channels. These figures
// are reasoned and nvcc's; none was measured on a GPU.

#include <cmath>

#include "core/half.h"
#include "kernels/batch_norm.h"
#include "kernels/device/channel_packs.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

/// Of each channel, in scratch, each array starting a pack: what x is multiplied with and the term behind, the factors
/// of dx, and (side by side, last) two sums.
struct Coefficients {
  float *slope, *beta, *by_x, *rest, *a, *b;
};

/// x, and what forward computes of it before an addend and the ReLU, for both directions alike.
template <typename T, int kWidth>
struct Normal {
  PackedChannels p;
  const T* x;
  const float *mean, *slope, *beta;

  /// Of the channels that a pack lies in.
  struct Of {
    Values<kWidth> mean, slope, beta;
  };
  CORTADO_HD Of of(int64_t c) const {
    return {p.template of_channels<kWidth>(mean, c), p.template of_channels<kWidth>(slope, c),
            p.template of_channels<kWidth>(beta, c)};
  }
  CORTADO_HD Values<kWidth> centred(const Of& k, int64_t pack) const {
    Values<kWidth> d = load_values<kWidth>(x + pack * kWidth);
    for (int i = 0; i < kWidth; ++i) d.v[i] -= k.mean.v[i];
    return d;
  }
  CORTADO_HD static float value(const Of& k, const Values<kWidth>& centred, int i) {
    return centred.v[i] * k.slope.v[i] + k.beta.v[i];
  }
};

/// g: dy, or 0 where the ReLU stopped it, which `mask` says or y; x where both are null.
template <typename T, int kWidth>
struct Passed {
  Normal<T, kWidth> normal;
  const T* dy;
  const uint8_t* mask;
  const T* y;
  bool relu;
  float ceiling;

  CORTADO_HD Values<kWidth> operator()(const typename Normal<T, kWidth>::Of& k, const Values<kWidth>& centred,
                                       int64_t pack) const {
    Values<kWidth> g = load_values<kWidth>(dy + pack * kWidth);
    if (!relu) return g;
    if (mask) {
      const unsigned bits = mask[pack];
      for (int i = 0; i < kWidth; ++i) g.v[i] = bits >> i & 1u ? g.v[i] : 0.0f;
      return g;
    }
    Values<kWidth> value = centred;
    if (y)
      value = load_values<kWidth>(y + pack * kWidth);
    else
      for (int i = 0; i < kWidth; ++i) value.v[i] = normal.value(k, centred, i);
    for (int i = 0; i < kWidth; ++i) g.v[i] = value.v[i] > 0 && value.v[i] < ceiling ? g.v[i] : 0.0f;
    return g;
  }
};

template <typename T, int kWidth>
struct StatisticsTerm {
  PackedChannels p;
  const T* x;
  CORTADO_HD Values<kWidth> of(int64_t c) const {
    if (p.last) return load_values<kWidth>(x + c);
    Values<kWidth> shift;
    for (int i = 0; i < kWidth; ++i) shift.v[i] = float(x[c * p.inner * kWidth]);
    return shift;
  }
  CORTADO_HD void add(const Values<kWidth>& shift, int64_t pack, Values<kWidth>& a, Values<kWidth>& b) const {
    const Values<kWidth> value = load_values<kWidth>(x + pack * kWidth);
    for (int i = 0; i < kWidth; ++i) {
      const float d = value.v[i] - shift.v[i];
      a.v[i] += d;
      b.v[i] += d * d;
    }
  }
};

/// The coefficients that both directions begin with.
struct Slope {
  const float *variance, *gamma, *beta;  ///< gamma and beta may be null
  float eps;
  Coefficients k;
  CORTADO_HD void operator()(int64_t c) const {
    k.slope[c] = (gamma ? gamma[c] : 1.0f) / sqrtf(variance[c] + eps);
    k.beta[c] = beta ? beta[c] : 0.0f;
  }
};

template <typename T>
struct Statistics {
  const T* x;
  int64_t stride;  ///< from channel to channel
  double values;
  float *mean, *variance;
  Slope slope;
  CORTADO_HD void operator()(int64_t c) const {
    const double d = double(slope.k.a[c]) / values, v = double(slope.k.b[c]) / values - d * d;
    mean[c] = float(double(float(x[c * stride])) + d);
    variance[c] = v < 0 ? 0.0f : float(v);
    slope(c);
  }
};

struct Zero {
  float *a, *b;
  CORTADO_HD void operator()(int64_t c) const { a[c] = b[c] = 0; }
};

template <typename T, int kWidth>
struct Forward {
  PackRuns runs;
  Normal<T, kWidth> normal;
  const T* addend;  ///< may be null
  T* y;
  uint8_t* mask;  ///< may be null
  bool relu;
  float ceiling;

  CORTADO_HD void operator()(int64_t call) const {
    const PackRun run = runs(call);
    const auto k = normal.of(run.c);
    for (int64_t i = 0; i < run.count; ++i) make(k, run.pack + i * run.step);
  }

  CORTADO_HD void make(const typename Normal<T, kWidth>::Of& k, int64_t pack) const {
    const Values<kWidth> centred = normal.centred(k, pack);
    Values<kWidth> value;
    for (int i = 0; i < kWidth; ++i) value.v[i] = normal.value(k, centred, i);
    if (addend) {
      const Values<kWidth> more = load_values<kWidth>(addend + pack * kWidth);
      for (int i = 0; i < kWidth; ++i) value.v[i] += more.v[i];
    }
    if (relu) rectify(value, pack);
    store_values(y + pack * kWidth, value);
  }

  CORTADO_HD void rectify(Values<kWidth>& value, int64_t pack) const {
    unsigned bits = 0;
    for (int i = 0; i < kWidth; ++i) {
      const float v = value.v[i];
      bits |= unsigned(v > 0 && v < ceiling) << i;
      value.v[i] = v < 0 ? 0.0f : v > ceiling ? ceiling : v;
    }
    if (mask) mask[pack] = uint8_t(bits);
  }
};

/// Writes daddend besides.
template <typename T, int kWidth>
struct GradientTerm {
  Passed<T, kWidth> passed;
  T* daddend;  ///< null: not wanted, or there already
  CORTADO_HD auto of(int64_t c) const { return passed.normal.of(c); }
  CORTADO_HD void add(const typename Normal<T, kWidth>::Of& k, int64_t pack, Values<kWidth>& a,
                      Values<kWidth>& b) const {
    const Values<kWidth> centred = passed.normal.centred(k, pack), g = passed(k, centred, pack);
    if (daddend) store_values(daddend + pack * kWidth, g);
    for (int i = 0; i < kWidth; ++i) {
      a.v[i] += g.v[i];
      b.v[i] += g.v[i] * centred.v[i];
    }
  }
};

/// From a channel's sums its gradients and the factors of dx = slope g + by_x (x - mean) + rest.
struct Finish {
  Coefficients k;
  const float* variance;
  float eps;
  double values;
  bool given;
  float *dgamma, *dbeta;  ///< may be null
  bool add_dgamma, add_dbeta;

  CORTADO_HD void operator()(int64_t c) const {
    const double inverse = 1 / sqrt(double(variance[c]) + double(eps));
    if (dgamma) dgamma[c] = float(double(k.b[c]) * inverse + (add_dgamma ? double(dgamma[c]) : 0.0));
    if (dbeta) dbeta[c] = float(double(k.a[c]) + (add_dbeta ? double(dbeta[c]) : 0.0));
    k.by_x[c] = given ? 0.0f : float(-double(k.slope[c]) * inverse * inverse * double(k.b[c]) / values);
    k.rest[c] = given ? 0.0f : float(-double(k.slope[c]) * double(k.a[c]) / values);
  }
};

template <typename T, int kWidth>
struct Backward {
  PackRuns runs;
  Passed<T, kWidth> passed;
  const float *by_x, *rest;
  T* dx;

  CORTADO_HD void operator()(int64_t call) const {
    const PackRun run = runs(call);
    const auto k = passed.normal.of(run.c);
    const Values<kWidth> factor = runs.p.template of_channels<kWidth>(by_x, run.c),
                         term = runs.p.template of_channels<kWidth>(rest, run.c);
    for (int64_t r = 0; r < run.count; ++r) {
      const int64_t pack = run.pack + r * run.step;
      const Values<kWidth> centred = passed.normal.centred(k, pack), g = passed(k, centred, pack);
      Values<kWidth> result;
      for (int i = 0; i < kWidth; ++i) result.v[i] = k.slope.v[i] * g.v[i] + factor.v[i] * centred.v[i] + term.v[i];
      store_values(dx + pack * kWidth, result);
    }
  }
};

class Plain final : public BatchNorm {
 public:
  explicit Plain(const BatchNormRequest& request)
      : r_(request),
        parts_(pack_parts(request.x)),
        runs_{parts_.p, parts_.width},
        values_(double(std::max<int64_t>(1, request.x.shape[0] * request.x.shape.count(2)))) {
    for (int64_t& part : single_) part = scratch_.add(r_.channels() * int64_t(sizeof(float)));
    totals_ = scratch_.add(2 * r_.channels() * int64_t(sizeof(float)));
    sums_ = scratch_.add(parts_.bytes());
  }

  std::string name() const override { return "plain"; }
  int64_t forward_scratch() const override { return scratch_.bytes(); }
  int64_t backward_scratch() const override { return scratch_.bytes(); }
  int64_t mask_bytes() const override { return r_.adds && r_.relu ? parts_.p.packs() : 0; }

  void forward(Context& context, const BatchNormOperands& io) override {
    with_packs([&](auto type, auto width) { forward_as<decltype(type), width>(context, io); });
  }
  void backward(Context& context, const BatchNormOperands& io) override {
    with_packs([&](auto type, auto width) { backward_as<decltype(type), width>(context, io); });
  }

 private:
  /// use(T(), width) with both as constants.
  template <typename Use>
  void with_packs(const Use& use) const {
    with_float_type(r_.x.dtype, [&](auto type) {
      if (parts_.width == 1)
        use(type, std::integral_constant<int, 1>());
      else
        use(type, std::integral_constant<int, Pack<decltype(type)>::kWidth>());
    });
  }

  Coefficients coefficients(void* scratch) const {
    const auto array = [&](int64_t offset) { return static_cast<float*>(scratch_part(scratch, offset)); };
    return {array(single_[0]), array(single_[1]), array(single_[2]),
            array(single_[3]), array(totals_),    array(totals_) + r_.channels()};
  }

  Slope slope(const BatchNormOperands& io, const Coefficients& k) const {
    return {io.variance, io.gamma, io.beta, r_.eps, k};
  }

  template <typename T, int kWidth>
  Normal<T, kWidth> normal(const BatchNormOperands& io, const Coefficients& k) const {
    return {parts_.p, static_cast<const T*>(io.x), io.mean, k.slope, k.beta};
  }

  template <typename T, int kWidth>
  void set_statistics(Context& context, const BatchNormOperands& io, const Coefficients& k) const {
    const PackedChannels& p = parts_.p;
    if (p.packs() == 0) return for_each(context, r_.channels(), Zero{io.mean, io.variance});
    const T* x = static_cast<const T*>(io.x);
    sum_packs<kWidth>(context, parts_, StatisticsTerm<T, kWidth>{p, x}, k.a, scratch_part(io.scratch, sums_));
    const int64_t stride = p.last ? 1 : p.inner * kWidth;
    for_each(context, r_.channels(), Statistics<T>{x, stride, values_, io.mean, io.variance, slope(io, k)});
  }

  template <typename T, int kWidth>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    if (r_.given_statistics)
      for_each(context, r_.channels(), slope(io, k));
    else
      set_statistics<T, kWidth>(context, io, k);
    const T* addend = r_.adds ? static_cast<const T*>(io.addend) : nullptr;
    uint8_t* mask = mask_bytes() > 0 ? static_cast<uint8_t*>(io.mask) : nullptr;
    for_each(
        context, runs_.calls(),
        Forward<T, kWidth>{runs_, normal<T, kWidth>(io, k), addend, static_cast<T*>(io.y), mask, r_.relu, r_.ceiling});
  }

  template <typename T, int kWidth>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    for_each(context, r_.channels(), slope(io, k));
    const auto* mask = r_.adds ? static_cast<const uint8_t*>(io.mask) : nullptr;
    const T* y = r_.adds && r_.relu ? static_cast<const T*>(io.y) : nullptr;
    Passed<T, kWidth> passed{normal<T, kWidth>(io, k), static_cast<const T*>(io.dy), mask, y, r_.relu, r_.ceiling};
    T* daddend = r_.relu || io.daddend != io.dy ? static_cast<T*>(io.daddend) : nullptr;
    if (io.dgamma || io.dbeta || daddend || !r_.given_statistics)
      sum_packs<kWidth>(context, parts_, GradientTerm<T, kWidth>{passed, daddend}, k.a,
                        scratch_part(io.scratch, sums_));
    for_each(
        context, r_.channels(),
        Finish{k, io.variance, r_.eps, values_, r_.given_statistics, io.dgamma, io.dbeta, io.add_dgamma, io.add_dbeta});
    if (!io.dx) return;
    if (io.daddend) passed.dy = static_cast<const T*>(io.daddend), passed.relu = false;
    for_each(context, runs_.calls(), Backward<T, kWidth>{runs_, passed, k.by_x, k.rest, static_cast<T*>(io.dx)});
  }

  BatchNormRequest r_;
  PackParts parts_;
  PackRuns runs_;
  double values_;  ///< of a channel
  ScratchLayout scratch_;
  int64_t single_[4] = {}, totals_ = 0, sums_ = 0;  ///< in scratch
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_plain(const BatchNormRequest& request, Context&, std::string& why) {
  if (request.x.layout == Layout::kBlocked16) return why = "blocks are for the CPU", nullptr;
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
