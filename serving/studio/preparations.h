#pragma once

#include <optional>
#include <string>

#include "studio/workplace.h"

namespace cortado::studio {

// A prepared training: a folder trainings/NAME with the files of `cortado new`, which the user has not accepted yet.
// The file .prepared marks it. It has the owner, which is a tab of the page, and the digests of the files. While they
// are still being written it has no digests, and is locked. Until the user accepts them, the studio may move the folder
// to the bin, so that its name is free again.

/// While a training with the solver starts: the files now belong to the user, unless it fails. Refused (kConflict)
/// while the solver is being prepared.
class AcceptedFiles {
 public:
  /// The caller holds place.starting.
  AcceptedFiles(const Workplace& place, const std::string& solver);
  void undo() const;  ///< marks them as prepared again

 private:
  const Folder& folder_;
  std::string mark_, content_;
};

/// Moves what a killed studio was preparing to the bin.
void remove_unfinished_preparations(const Folder& folder);

}  // namespace cortado::studio
