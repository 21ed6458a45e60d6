#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::data {

/// Labels as a table or an archive has them: whole numbers stay as they are; where one of them is none, all are names,
/// sorted and numbered from 0, and `names` receives them.
std::vector<int32_t> class_numbers(const std::vector<std::string>& labels, std::vector<std::string>& names);

}  // namespace cortado::data
