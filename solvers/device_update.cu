#include <cmath>

#include "core/loops/reduce_pieces.h"
#include "solvers/device_update.h"

namespace cortado {

/// In double, because the square of any finite float is finite there. So the sum is finite if all gradients are.
struct SumOfSquares {
  double value;
  CORTADO_HD SumOfSquares& operator+=(const SumOfSquares& other) {
    value += other.value;
    return *this;
  }
};

namespace {

CORTADO_HD bool is_finite(double value) { return value - value == 0; }

struct PutInput {
  IterationStep* to;
  IterationStep value;
  CORTADO_HD void operator()(int64_t) const { *to = value; }
};

struct GoOn {
  StepState* state;
  CORTADO_HD void operator()(int64_t) const { state->ends = false; }
};

struct AddLoss {
  StepState* state;
  const float* loss;
  float share;
  bool first;
  CORTADO_HD void operator()(int64_t) const { state->loss = (first ? 0 : state->loss) + *loss * share; }
};

struct Squares {
  const WeightStep* weights;
  int64_t values, count;  ///< of all gradients; of pieces
  Traffic traffic(int64_t) const { return {values * int64_t(sizeof(float)), count * int64_t(sizeof(SumOfSquares))}; }
  struct OfOne {
    const float* dw;
    CORTADO_HD SumOfSquares operator()(int64_t i) const { return {double(dw[i]) * dw[i]}; }
  };
  CORTADO_HD OfOne operator()(int64_t part) const { return {weights[part].dw}; }
};

/// Sums that were computed before, as one piece.
struct Sums {
  const SumOfSquares* sums;
  int64_t count;
  Traffic traffic(int64_t n) const {
    return {count * int64_t(sizeof(SumOfSquares)), n * int64_t(sizeof(SumOfSquares))};
  }
  struct OfOne {
    const SumOfSquares* sums;
    CORTADO_HD SumOfSquares operator()(int64_t i) const { return sums[i]; }
  };
  CORTADO_HD OfOne operator()(int64_t) const { return {sums}; }
};
struct OnePiece {
  int64_t count;
  CORTADO_HD Piece operator()(int64_t) const { return {0, 0, count}; }
};

struct Control {
  StepState* state;
  const IterationStep* input;
  const SumOfSquares* squares;  ///< of all gradients
  float share;                  ///< 1 / passes whose gradients were summed
  GradientClip clip;
  bool scales;

  CORTADO_HD void operator()(int64_t) const {
    if (state->ends) return;  // and step.skip stays
    const float scale = scales ? state->loss_scale : 1.0f;
    const bool finite = is_finite(squares->value);
    state->finite_gradients = finite;
    state->norm = clip.norm(squares->value) / scale;
    state->step = *input;
    state->step.gradient_scale = float(clip.factor(state->norm) * share / scale);
    state->step.skip = !(finite && is_finite(state->loss));
    if (scales) adapt(finite);
    state->ends = !is_finite(state->loss) || (scales ? state->loss_scale <= kLeastLossScale : !finite);
  }

  CORTADO_HD void adapt(bool finite) const {
    if (!finite) {
      ++state->skipped;
      state->good_steps = 0;
      if (state->loss_scale > kLeastLossScale) state->loss_scale /= 2;
    } else if (++state->good_steps == kGoodSteps) {
      state->good_steps = 0;
      if (state->loss_scale < kMaxLossScale) state->loss_scale *= 2;
    }
  }
};

}  // namespace

DeviceUpdate::DeviceUpdate(const IterationPlan& plan, Net& net, const std::vector<WeightStep>& entries)
    : plan_(plan),
      rule_(*plan.rule),
      net_(net),
      context_(net.context()),
      scales_(context_.precision == Precision::kFp16),
      memory_(context_, sizeof(StepState)),
      input_(context_, sizeof(IterationStep)),
      kept_{{context_, sizeof(StepState)}, {context_, sizeof(StepState)}},
      now_(context_, sizeof(StepState)) {
  make_tables(entries);
  StepState first;
  first.loss_scale = scales_ ? kFirstLossScale : 1;
  write(first);
}

void DeviceUpdate::make_tables(const std::vector<WeightStep>& entries) {
  std::vector<Piece> pieces;
  std::vector<int64_t> first_piece;
  for (const WeightStep& entry : entries) {
    first_piece.push_back(int64_t(pieces.size()));
    for (int64_t at = 0; at < entry.count; at += kPieceSize)
      pieces.push_back({int64_t(first_piece.size()) - 1, at, std::min(entry.count, at + kPieceSize)});
  }
  first_piece.push_back(int64_t(pieces.size()));
  weights_ = copy_of_list(context_, entries);
  pieces_ = copy_of_list(context_, pieces);
  first_piece_ = copy_of_list(context_, first_piece);
  sums_ = DeviceMemory(context_, pieces.size() * sizeof(WeightSums));
  rates_ = DeviceMemory(context_, entries.size() * sizeof(float));
  squares_ = DeviceMemory(context_, (pieces.size() + 1) * sizeof(SumOfSquares));
  table_ = {.weights = reinterpret_cast<const WeightStep*>(weights_.data()),
            .pieces = reinterpret_cast<const Piece*>(pieces_.data()),
            .first_piece = reinterpret_cast<const int64_t*>(first_piece_.data()),
            .sums = reinterpret_cast<WeightSums*>(sums_.data()),
            .rates = reinterpret_cast<float*>(rates_.data()),
            .weight_count = int64_t(entries.size()),
            .count = int64_t(pieces.size()),
            .histories = rule_.histories};
  for (const WeightStep& entry : entries) table_.values += entry.count;
  make_copies();
}

void DeviceUpdate::make_copies() {
  std::vector<UpdatedCopy> copies(size_t(table_.weight_count));
  for (const WeightCopy& copy : net_.weight_copies()) {
    const bool moves = copy.form.moves();
    copies[copy.param] = {copy.memory, copy.form.dtype == DType::kBF16, Divisor(moves ? copy.form.c : 1),
                          Divisor(moves ? copy.form.taps : 1)};
    table_.copied += copy.form.bytes();
  }
  copies_ = copy_of_list(context_, copies);
  table_.copies = reinterpret_cast<const UpdatedCopy*>(copies_.data());
}

void DeviceUpdate::begin(int64_t iter, const StepRates& rates) {
  const IterationStep input{.rates = rates, .correction = rule_.correction(iter), .iter = iter};
  for_each(context_, 1, PutInput{reinterpret_cast<IterationStep*>(input_.data()), input});
}

void DeviceUpdate::add_loss(const float* loss, bool first) {
  for_each(context_, 1, AddLoss{state(), loss, 1.0f / float(plan_.iter_size), first});
}

const SumOfSquares* DeviceUpdate::sum_squares() {
  auto* sums = reinterpret_cast<SumOfSquares*>(squares_.data());
  reduce_pieces(context_, ListedPieces{table_.pieces}, table_.count,
                Squares{table_.weights, table_.values, table_.count}, sums);
  reduce_pieces(context_, OnePiece{table_.count}, 1, Sums{sums, table_.count}, sums + table_.count);
  return sums + table_.count;
}

void DeviceUpdate::apply() {
  const Control control{.state = state(),
                        .input = reinterpret_cast<const IterationStep*>(input_.data()),
                        .squares = sum_squares(),
                        .share = 1.0f / float(plan_.passes_per_update()),
                        .clip = plan_.clip(),
                        .scales = scales_};
  for_each(context_, 1, control);
  rule_.update_all(context_, table_, &state()->step);
}

StepState DeviceUpdate::seen(int slot) {
  const StepState state = *reinterpret_cast<const StepState*>(kept_[slot].wait());
  if (state.ends) for_each(context_, 1, GoOn{this->state()});
  return state;
}

StepState DeviceUpdate::read() {
  now_.begin(context_, memory_.data());
  synchronize(context_);
  return *reinterpret_cast<const StepState*>(now_.wait());
}

void DeviceUpdate::write(const StepState& state) { copy_to_device(context_, memory_.data(), &state, sizeof(state)); }

const float* DeviceUpdate::loss_scale() const { return scales_ ? &state()->loss_scale : nullptr; }

}  // namespace cortado
