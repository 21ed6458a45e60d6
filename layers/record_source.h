#pragma once

#include <cstdint>

#include "data/pipeline/pipeline.h"
#include "layers/data_cursor.h"

namespace cortado {

/// What a data layer is that reads a set of known size, record after record: position() 0 is its first one.
class RecordSource : public DataCursor {
 public:
  virtual int64_t records() const = 0;                     ///< of the set; 0 where it was not opened
  virtual const data::DataPipeline* pipeline() const = 0;  ///< what reads it; null where it was not opened
};

}  // namespace cortado
