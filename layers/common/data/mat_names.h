#pragma once

// The names of the files that MatRead and MatWrite use, as in DeepLab: PREFIX, then the word of a list or iter_NUMBER,
// then _blob_ and the number of the blob, then .mat.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// The variable of a file.
inline constexpr const char* kMatBlobVariable = "data";

struct MatNames {
  std::string prefix;
  bool listed = false;
  std::vector<std::string> names = {};  ///< if listed

  std::string path(int64_t iteration, size_t blob) const;
};

/// Reads the list `source`, the first word of each line without its last `strip` characters; "": no list. `message` is
/// the one of these options. Throws FieldError, Error(kIo) or Error(kData).
MatNames read_mat_names(const std::string& message, const std::string& prefix, const std::string& source,
                        int64_t strip);

}  // namespace cortado
