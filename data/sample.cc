#include "data/sample.h"

namespace cortado::data {

std::string Sample::shape_str() const {
  return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
}

}  // namespace cortado::data
