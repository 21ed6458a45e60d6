#pragma once

#include "data/batch_share.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

/// A data layer whose forward() reads the records itself, with a cursor.
class RecordLayer : public Layer, public DataCursor {
 public:
  RecordLayer(data::BatchShare share, int64_t batch) : cursor_(share, batch) {}

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  LayerRoles roles() override { return {.needs_host = true, .cursor = this}; }

  uint64_t position() const override { return cursor_.position(); }
  void seek(uint64_t position) override { cursor_.seek(position); }
  void repeat() override { cursor_.repeat(); }

 protected:
  data::ShareCursor cursor_;
};

}  // namespace cortado
