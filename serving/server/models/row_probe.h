#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/predictor.h"

namespace cortado::server {

/// Whether the net computes the rows of its inputs independently, so that rows of several clients may be joined.
/// Outputs must have a row for each, and the first of two rows must be bitwise independent of the second.
bool computes_rows_alone(Predictor& predictor);

/// The inputs' shapes with this number of rows.
std::map<std::string, Shape> shapes_with_rows(const Predictor& predictor, int64_t rows);

/// Random inputs of these shapes, uniform in [-1, 1].
Arrays drawn_inputs(const std::map<std::string, Shape>& shapes, uint64_t seed);

/// Prepares the predictor for `contexts` concurrent requests with these shapes, with all its threads or with one,
/// whichever is faster for a single request: small nets finish before other threads wake up.
void prepare_at_best(Predictor& predictor, const std::map<std::string, Shape>& shapes, int contexts);

/// The minimum time of a few runs.
double least_seconds(Predictor& predictor, const std::map<std::string, Shape>& shapes);

/// The metadata of an input or output; its values are always 32-bit floats.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> dims;  ///< -1: any number of rows
};

}  // namespace cortado::server
