#include "tools/train/next_command.h"

#include "layers/registry.h"
#include "tools/report/detected_images.h"
#include "tools/report/judged_samples.h"
#include "tools/train/resume_command.h"

namespace cortado::tools {

std::string next_command(const std::string& run, const RunSource& source) {
  const caffe::NetParameter net = read_net(source.net).net;
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  for (const std::string& stage : split(source.stages, ','))
    if (!stage.empty()) state.add_stage(stage);
  const std::string folder = quoted_for_shell(run);
  if (find_detector(net, state).reader) return "cortado detect " + folder + " image.jpg";
  const JudgedBlobs judged = find_judged(net, state);
  if (judged.known() && reads_records(judged.reader->type())) return "cortado classify " + folder + " image.jpg";
  return "cortado test " + folder;
}

}  // namespace cortado::tools
