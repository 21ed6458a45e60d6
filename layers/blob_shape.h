#pragma once

#include <string>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The shape that an option spells out. Throws FieldError(field) for a negative extent, more than 32 axes or a size that no
/// memory has.
Shape shape_of(const caffe::BlobShape& message, const std::string& field);

}  // namespace cortado
