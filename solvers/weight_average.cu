#include <algorithm>

#include "core/error.h"
#include "core/loops/reduce_pieces.h"
#include "solvers/weight_average.h"

namespace cortado {

namespace {

/// The update of one weight's average.
struct Approach {
  AveragedWeight on;
  float decay;
  CORTADO_HD void operator()(int64_t i) const { on.average[i] += (1 - decay) * (on.w[i] - on.average[i]); }
};

struct Swap {
  AveragedWeight on;
  CORTADO_HD void operator()(int64_t i) const {
    const float w = on.w[i];
    on.w[i] = on.average[i];
    on.average[i] = w;
  }
};

struct Average {
  const AveragedWeight* weights;
  float decay;
  CORTADO_HD Approach operator()(int64_t part) const { return {weights[part], decay}; }
};

struct Exchange {
  const AveragedWeight* weights;
  CORTADO_HD Swap operator()(int64_t part) const { return {weights[part]}; }
};

const AveragedWeight* table_in(const DeviceMemory& memory) {
  return reinterpret_cast<const AveragedWeight*>(memory.data());
}
const Piece* pieces_in(const DeviceMemory& memory) { return reinterpret_cast<const Piece*>(memory.data()); }

}  // namespace

WeightAverage::WeightAverage(double decay, bool warms_up, Net& net)
    : decay_(decay), warms_up_(warms_up), net_(net), list_(net) {
  size_t bytes = 0;
  for (const Param& param : net.params()) bytes += whole_lines(param.count * kFloatBytes);
  arena_ = DeviceMemory(net.context(), bytes);
  std::byte* at = arena_.data();
  std::vector<Piece> pieces;
  for (const Param& param : net.params()) {
    for (int64_t begin = 0; begin < param.count; begin += kPieceSize)
      pieces.push_back({int64_t(weights_.size()), begin, std::min(param.count, begin + kPieceSize)});
    weights_.push_back({param.w, reinterpret_cast<float*>(at)});
    at += whole_lines(param.count * kFloatBytes);
  }
  piece_count_ = int64_t(pieces.size());
  table_ = copy_of_list(net.context(), weights_);
  pieces_ = copy_of_list(net.context(), pieces);
  reset();
}

void WeightAverage::reset() {
  for (size_t p = 0; p < weights_.size(); ++p)
    copy_on_device(net_.context(), weights_[p].average, weights_[p].w, size_t(net_.params()[p].count) * sizeof(float));
  updates_ = 0;
}

void WeightAverage::add() {
  const double n = double(updates_++), most = (1 + n) / (10 + n);
  const Average average{table_in(table_), float(warms_up_ ? std::min(decay_, most) : decay_)};
  for_each_piece(net_.context(), pieces_in(pieces_), piece_count_, average);
}

void WeightAverage::show(bool average) {
  if (average == shown_) return;
  for_each_piece(net_.context(), pieces_in(pieces_), piece_count_, Exchange{table_in(table_)});
  shown_ = average;
}

void WeightAverage::save(caffe::TrainingState& training) const {
  for (size_t k = 0; k < list_.size(); ++k)
    list_.save(k, list_.param(k) < 0 ? nullptr : weights_[size_t(list_.param(k))].average, *training.add_average());
  training.set_average_updates(updates_);
}

void WeightAverage::load(const caffe::TrainingState& training, const std::string& path) {
  if (size_t(training.average_size()) != list_.size())
    throw Error(ExitCode::kSnapshot, path + " contains the average of " + std::to_string(training.average_size()) +
                                         " weights, but the net has " + std::to_string(list_.size()));
  for (size_t k = 0; k < list_.size(); ++k)
    list_.load(k, training.average(int(k)), list_.param(k) < 0 ? nullptr : weights_[size_t(list_.param(k))].average,
               path + ": average " + std::to_string(k));
  updates_ = std::max<int64_t>(0, training.average_updates());
}

}  // namespace cortado
