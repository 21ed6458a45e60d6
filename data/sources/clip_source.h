#pragma once

// Clips: frames of a video file, or stored as image files in a folder.

#include <memory>
#include <string>

#include "data/source.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

struct ClipSourceOptions {
  std::string list;                  ///< lines "folder first_frame label"; with segments "folder frames label"
  std::string root;                  ///< prepended to each folder as a string
  int length = 1;                    ///< frames per clip, or per segment
  int rate = 1;                      ///< step between frames of the folder
  int height = 0, width = 0;         ///< the size to which frames are resized; 0: not resized
  std::string pattern = "%06d.jpg";  ///< of the names of frames (data/sources/frame_name.h)
  bool video = false;                ///< lines name video files instead of folders; frames count from 0
  bool jitter = false;               ///< of videos: the first frame is drawn
  int segments = 0;                  ///< TSN: the parts of the folder from which frames are taken; 0: C3D's clips
  bool random = false;               ///< the position in a segment is drawn; false: its middle
  bool flow = false;                 ///< TSN: each frame is two grey images, for x and y
  uint64_t seed = 1;                 ///< of draws

  int colors() const { return flow ? 1 : 3; }
  int images() const { return length * (segments > 0 ? segments : 1) * (flow ? 2 : 1); }
  int channels() const { return colors() * images(); }
};

/// Whether the options are TSN's.
inline bool has_segments(const caffe::VideoDataParameter& param) {
  return param.has_num_segments() || param.has_modality() || param.has_name_pattern();
}

/// A clip's sample has the channels of C3D, grouped by colour (blue of all frames, green, red), or of TSN, frame by
/// frame. Throws Error(kIo), or Error(kData) for invalid lines.
std::shared_ptr<const DataSource> clip_source(const ClipSourceOptions& options);

}  // namespace cortado::data
