#pragma once

// What LSTM, GRU and RNN share: directions, layouts, states.

#include <string>
#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// A recurrent operator with its sequences.
struct Recurrent {
  int64_t units = 0, directions = 1;
  bool first_is_reverse = false;  ///< direction: reverse
  bool batch_first = false;       ///< layout 1
  Blob x = {};                    ///< steps x sequences x inputs

  bool is_reverse(int64_t direction) const { return first_is_reverse || direction == 1; }
};

/// The results of one direction, in the order of its steps.
struct DirectionResult {
  Blob y;            ///< steps x sequences x units
  Blob last_h;       ///< 1 x sequences x units
  Blob last_c = {};  ///< the same, for LSTM
};

/// Reads what the operators have in common. Throws Error for activations other than `activations`, and for inputs and
/// attributes that change the computation.
Recurrent read_recurrent(NodeReader& node, const std::vector<std::string>& activations);

/// x, with its steps reversed if the direction runs backwards.
Blob steps_of(NodeReader& node, const Recurrent& recurrent, int64_t direction);

/// Rows of D x rows x columns: `count` blocks of `units` rows of one direction, in the given order.
BlobFile rows_of(NodeReader& node, const Constant& all, const Recurrent& recurrent, int64_t direction, int64_t blocks,
                 const std::vector<int64_t>& order);

/// The initial state of a direction, input `i`; zeros if the model has none.
Blob initial_state(NodeReader& node, const Recurrent& recurrent, size_t i, int64_t direction);
bool has_initial_state(const NodeReader& node, size_t i);

/// Joins the directions, and sets the outputs Y, Y_h and Y_c.
void finish_directions(NodeReader& node, const Recurrent& recurrent, const std::vector<DirectionResult>& results);

}  // namespace cortado::importing
