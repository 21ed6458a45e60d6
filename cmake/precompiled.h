// The headers that most files include and that take longest to parse. Files still include what they use; this header
// only makes compiling faster.
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
