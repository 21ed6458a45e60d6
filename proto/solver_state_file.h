#pragma once

#include <string>
#include <string_view>

#include "proto/cortado.pb.h"

namespace cortado {

/// Reads a .solverstate, ours or Caffe's. A state of ours carries its own digest, which is checked. Throws
/// Error(kSnapshot) where it is truncated, corrupt or a file of another kind, Error(kIo) where it cannot be read.
/// Memory stays within a small multiple of the file's size.
caffe::SolverState read_solver_state(const std::string& path);
caffe::SolverState solver_state_from_bytes(std::string_view content, const std::string& path);

/// Writes a state atomically; where it has `training`, with its own digest.
void write_solver_state(const std::string& path, const caffe::SolverState& state);

}  // namespace cortado
