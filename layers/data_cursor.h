#pragma once

#include <cstdint>

namespace cortado {

/// What a data layer is besides a Layer: a place in its data.
class DataCursor {
 public:
  virtual ~DataCursor() = default;
  virtual uint64_t position() const = 0;     ///< records of all processes that were consumed since training began
  virtual void seek(uint64_t position) = 0;  ///< forward() goes on there
  virtual void repeat() = 0;                 ///< the next forward() makes the batch of the latest one again
  virtual double wait_seconds() const { return 0; }  ///< spent waiting for data so far
};

}  // namespace cortado
