#include "solvers/weight_list.h"

#include <set>

#include "core/error.h"

namespace cortado {

WeightList::WeightList(Net& net) : net_(net) {
  std::set<graph::WeightId> seen;
  for (const graph::SourceLayer& layer : net_.plan().graph.layers)
    for (const graph::WeightId id : layer.weights) {
      if (!seen.insert(id).second) continue;
      int index = -1;
      for (size_t p = 0; p < net_.params().size(); ++p)
        if (net_.params()[p].id == id) index = int(p);
      slots_.push_back({id, index});
    }
}

void WeightList::save(size_t k, const float* stored, caffe::BlobProto& out) const {
  const Slot& slot = slots_[k];
  const Shape& shape = net_.plan().graph.weight(slot.id).spec.shape;
  BlobFile plain{shape, std::vector<float>(size_t(shape.count()))};
  if (slot.param >= 0) net_.params()[size_t(slot.param)].format.to_plain(net_.context(), stored, plain.data.data());
  to_message(plain, out);
}

void WeightList::load(size_t k, const caffe::BlobProto& message, float* stored, const std::string& what) const {
  const BlobFile blob = from_message(message, what);
  const Slot& slot = slots_[k];
  const graph::Weight& weight = net_.plan().graph.weight(slot.id);
  if (int64_t(blob.data.size()) != weight.spec.shape.count())
    throw Error(ExitCode::kSnapshot, what + " has " + std::to_string(blob.data.size()) + " values, but blob " +
                                         std::to_string(weight.index) + " of layer '" + weight.layer + "' is " +
                                         weight.spec.shape.str());
  if (slot.param < 0) return;
  net_.params()[size_t(slot.param)].format.from_plain(net_.context(), blob.data.data(), stored);
}

}  // namespace cortado
