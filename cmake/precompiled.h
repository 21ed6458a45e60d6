// What nearly every file includes and what takes longest to parse. A file still includes what it uses: this only makes
// it faster.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "proto/cortado.pb.h"
