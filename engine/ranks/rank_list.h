#pragma once

#include <string>
#include <vector>

namespace cortado::ranks {

/// "rank 2", "ranks 1, 2, 5"; of very many only the first are named.
std::string named(const std::vector<int>& ranks);

}  // namespace cortado::ranks
