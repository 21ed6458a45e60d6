#pragma once

// The programs that a model can be written for: the operators that they do not run, and what layers write instead.

#include <map>
#include <set>
#include <string>

#include "onnx/schema.h"

namespace cortado::exporting {

/// A form of an operator that a program reads wrongly or not at all, and for which layers have a replacement.
enum class Form {
  kClipInputs,    ///< Clip with its limits as inputs, as since opset 11
  kUnequalSplit,  ///< Split into parts of different extents
  kSumInputs,     ///< ReduceSum with its axes as an input, as since opset 13
  kGeluByTanh,    ///< the nodes of GELU's approximation with Tanh
};

struct Reader {
  std::string title;  ///< in messages, with the version
  std::set<Form> replaced;
  std::map<std::string, std::string> unsupported;  ///< operators, or "double", and an addition to the message
  bool replaces(Form form) const { return replaced.contains(form); }
};

/// The program that --for names. Throws Error(kUsage) if it is unknown.
const Reader& reader_named(const std::string& name);

/// Logs a warning for each kind of node that the reader does not run.
void warn_of_unsupported(const Reader& reader, const onnx::GraphProto& graph);

}  // namespace cortado::exporting
