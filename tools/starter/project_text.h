#pragma once

#include <memory>
#include <string>

#include "proto/files/read_text.h"
#include "tools/starter/project.h"
#include "tools/starter/schedule.h"

namespace cortado::tools {

/// The letters, digits and underscores of the path's last part.
std::string word_of(const std::string& path);

/// The line of a net or solver whose paths are relative to its folder.
std::string relative_line();

/// The layers of a net of the project in compact text form, with paths relative to the project's folder.
std::string layers_text(caffe::NetParameter net, const Project& project);

/// The solver of a project. `score`: the blob of keep_best; `extra`: more lines.
std::string solver_text(const Project& project, const Schedule& schedule, const Recipe& recipe,
                        const std::string& weights, const std::string& score, int64_t test_records,
                        const std::string& extra = {});

/// The net without labels. `output`: the blob to keep; "" chooses it.
std::string deploy_text(const NetFile& net, const Project& project, const std::string& output);

/// Builds the net in both phases, with its data, so that errors are reported before the training. Returns the
/// operations of the forward pass in training.
int64_t try_out(const std::shared_ptr<const NetFile>& file);

/// "flowers: 3 classes, 96 training images, 24 test images".
std::string describe_data(const std::string& path, int64_t classes, int64_t train, int64_t test);

}  // namespace cortado::tools
