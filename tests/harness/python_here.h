#pragma once

#include <gtest/gtest.h>

#include "core/files/file.h"
#include "core/process/program_path.h"

/// Skips the test if the build has no Python.
#define SKIP_WITHOUT_PYTHON()                                                                                         \
  if (!cortado::file_exists(cortado::join_path(cortado::folder_of(cortado::program_path()), "libcortado_python.so"))) \
  GTEST_SKIP() << "built without Python"
