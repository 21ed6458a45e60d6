#pragma once

#include "core/error.h"
#include "proto/files/read_text.h"

namespace cortado {

/// Every mistake in the options of a solver that shows without its nets: values out of range, unknown types and
/// policies, numbers of test nets that do not agree, options of other programs that would be ignored. Nets are not
/// read.
void check_solver(const SolverFile& file, Mistakes& mistakes);

/// Throws Error(kNet) with all of them, if there are any.
void require_valid(const SolverFile& file);

/// A mistake in the solver file at the field that `error` names.
Mistake mistake_at(const SolverFile& file, const FieldError& error);

/// Runs `work`, for mistakes that show only once the nets are there: a FieldError becomes an Error at its field.
template <typename Work>
auto at_its_field(const SolverFile& file, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const FieldError& error) {
    throw Error(ExitCode::kNet, mistake_at(file, error));
  }
}

/// What check_solver() lets pass and a user should know, with the place.
std::vector<Mistake> solver_warnings(const SolverFile& file);

/// How many test nets `solver` describes: one for each test_net_param and test_net, and as many of net_param or net as
/// test_iter has entries left. None where every test_iter is 0.
int count_test_nets(const caffe::SolverParameter& solver);

}  // namespace cortado
