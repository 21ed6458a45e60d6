#include "tools/report/net_image.h"

#include "core/text/text.h"
#include "tools/options/net_file.h"
#include "tools/picture/render.h"

namespace cortado::tools {

nlohmann::ordered_json net_image(const SolverNetFile& net) {
  graph::BuildOptions options = net.options;
  options.backward = false;
  const graph::Graph shapes = graph_with_shapes(net.file, options);
  const NetPicture picture = make_picture(net.file, options.state, false, &shapes);
  const std::string svg = to_svg(make_scene(picture, false));
  return {{"image", "data:image/svg+xml;base64," + base64(svg)}, {"headline", headline_of(picture)}};
}

}  // namespace cortado::tools
