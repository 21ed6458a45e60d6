#pragma once

#include <gtest/gtest.h>

#include "core/process/program_path.h"

/// Skips the test if the build has no HDF5.
#define SKIP_WITHOUT_HDF5() \
  if (cortado::companion_path("cortado-hdf5").empty()) GTEST_SKIP() << "built without HDF5"
