#pragma once

#include "tools/program/command.h"

namespace cortado::studio {

/// `cortado-studio records`: writes small pictures of a dataset's records to stdout, as JSON. It runs as a child of the
/// studio, so that damaged records and images end only the child.
tools::Command records_command();

}  // namespace cortado::studio
