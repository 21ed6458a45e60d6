#pragma once

#include <gtest/gtest.h>

#include "proto/helper_process.h"

/// Ends a test where this build has no HDF5.
#define SKIP_WITHOUT_HDF5() \
  if (cortado::path_of_helper("cortado-hdf5").empty()) GTEST_SKIP() << "built without HDF5"
