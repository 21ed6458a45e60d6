#pragma once

#include <memory>
#include <string>

#include "proto/files/read_text.h"
#include "tools/starter/project.h"
#include "tools/starter/schedule.h"

namespace cortado::tools {

/// Letters, digits and underscores of a path's last part.
std::string word_of(const std::string& path);

/// A path as a project's files name it, so that they train from any folder.
std::string path_from_anywhere(const std::string& path);

/// Layers as people write them.
std::string layers_text(const caffe::NetParameter& net);

/// The solver of a project. `score` is what tests are judged by, `extra` further lines.
std::string solver_text(const Project& project, const Schedule& schedule, const Recipe& recipe,
                        const std::string& weights, const std::string& score, int64_t test_records,
                        const std::string& extra = {});

/// The net without labels; `output`: the blob that is to come out, "" finds it out.
std::string deploy_text(const NetFile& net, const std::string& path, const std::string& output);

/// Builds the net in both phases, with its data: what is wrong with it is told now, not by the training. Returns the
/// operations of a training pass forward.
int64_t try_out(const std::shared_ptr<const NetFile>& file);

/// "flowers: 3 classes, 96 images to train with, 24 to test with".
std::string describe_data(const std::string& path, int64_t classes, int64_t train, int64_t test);

}  // namespace cortado::tools
