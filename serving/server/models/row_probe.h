#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/predictor.h"

namespace cortado::server {

/// Whether the net computes each row of its inputs by itself, so that rows of several clients may be computed together:
/// outputs have a row for each, and the first row of two is the same, bit for bit, whatever the second one holds.
bool computes_rows_alone(Predictor& predictor);

/// The inputs' shapes with so many rows.
std::map<std::string, Shape> shapes_with_rows(const Predictor& predictor, int64_t rows);

/// Inputs of these shapes, drawn from a generator with this seed, from -1 to 1.
Arrays drawn_inputs(const std::map<std::string, Shape>& shapes, uint64_t seed);

/// Makes the predictor ready for `contexts` requests at once with these shapes, by all its threads or, where that takes
/// less time for a request that comes alone, by one: what is small is done before others have woken up.
void prepare_at_best(Predictor& predictor, const std::map<std::string, Shape>& shapes, int contexts);

/// The least time of a few runs.
double least_seconds(Predictor& predictor, const std::map<std::string, Shape>& shapes);

/// What clients are told of an input or an output; its values are always 32-bit floats.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> dims;  ///< -1: any number of rows
};

}  // namespace cortado::server
