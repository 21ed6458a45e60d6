#pragma once

#include <gtest/gtest.h>

#include "core/files/file.h"
#include "core/process/program_path.h"

namespace cortado {

inline bool has_python() { return file_exists(join_path(folder_of(program_path()), "libcortado_python.so")); }

}  // namespace cortado

/// Skips the test if the build has no Python.
#define SKIP_WITHOUT_PYTHON() \
  if (!cortado::has_python()) GTEST_SKIP() << "built without Python"
