// Computes ranks, order and columns, and then the routes of the links.
#include "tools/picture/layout.h"

#include <algorithm>
#include <map>

#include "tools/picture/ranks.h"

namespace cortado::tools {

namespace {

/// The positions at which links leave (or enter) each node: side by side around its middle, in the order of their other
/// ends.
class Ports {
 public:
  Ports(const std::vector<Extent>& nodes, const std::vector<Link>& links, const Ranks& ranks,
        const std::vector<double>& places) {
    std::map<std::pair<int, int>, std::vector<double>> ends;  // for each port of a node, the other ends of its links
    for (size_t i = 0; i < links.size(); ++i)
      ends[{links[i].from, links[i].port}].push_back(places[size_t(ranks.chains[i][1])]);
    std::map<int, std::vector<std::pair<double, int>>> ports;
    for (const auto& [port, to] : ends) {
      double sum = 0;
      for (const double place : to) sum += place;
      ports[port.first].emplace_back(sum / double(to.size()), port.second);
    }
    for (auto& [node, list] : ports) {
      std::sort(list.begin(), list.end());
      constexpr double kApart = 28;
      const double apart = std::min(kApart, nodes[size_t(node)].across / double(list.size() + 1));
      for (size_t i = 0; i < list.size(); ++i)
        offset_[{node, list[i].second}] = (double(i) - double(list.size() - 1) / 2) * apart;
    }
  }

  double offset(const Link& link) const { return offset_.at({link.from, link.port}); }

 private:
  std::map<std::pair<int, int>, double> offset_;
};

struct Band {
  double begin = 0, end = 0;
  double middle() const { return (begin + end) / 2; }
};

std::vector<Band> bands_of(const std::vector<Extent>& nodes, const Ranks& ranks, const Spacing& spacing) {
  std::vector<Band> bands;
  double at = 0;
  for (const std::vector<int>& rank : ranks.order) {
    double most = 0;
    for (const int id : rank)
      if (ranks.points[size_t(id)].node >= 0) most = std::max(most, nodes[size_t(ranks.points[size_t(id)].node)].along);
    bands.push_back({at, at + most});
    at += most + spacing.ranks;
  }
  return bands;
}

}  // namespace

Drawing lay_out(const std::vector<Extent>& nodes, const std::vector<Link>& links, const Spacing& spacing) {
  Drawing drawing;
  if (nodes.empty()) return drawing;
  Ranks ranks = make_ranks(nodes, links);
  order_ranks(ranks);
  std::vector<double> places = place_points(ranks, spacing);
  double least = places[0];
  for (size_t i = 0; i < places.size(); ++i) least = std::min(least, places[i] - ranks.points[i].width / 2);
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] -= least;
    drawing.size.across = std::max(drawing.size.across, places[i] + ranks.points[i].width / 2);
  }
  const std::vector<Band> bands = bands_of(nodes, ranks, spacing);
  drawing.size.along = bands.back().end;
  for (size_t node = 0; node < nodes.size(); ++node)
    drawing.centres.push_back({places[node], bands[size_t(ranks.points[node].rank)].middle()});
  const Ports ports(nodes, links, ranks, places);
  for (size_t i = 0; i < links.size(); ++i) {
    const size_t from = size_t(links[i].from), to = size_t(links[i].to);
    const double leaves = places[from] + ports.offset(links[i]);
    std::vector<Extent> route = {{leaves, drawing.centres[from].along + nodes[from].along / 2},
                                 {leaves, bands[size_t(ranks.points[from].rank)].end}};
    for (size_t k = 1; k + 1 < ranks.chains[i].size(); ++k) {
      const int id = ranks.chains[i][k];
      const Band& band = bands[size_t(ranks.points[size_t(id)].rank)];
      route.push_back({places[size_t(id)], band.begin});
      route.push_back({places[size_t(id)], band.end});
    }
    route.push_back({places[to], bands[size_t(ranks.points[to].rank)].begin});
    route.push_back({places[to], drawing.centres[to].along - nodes[to].along / 2});
    drawing.routes.push_back(std::move(route));
  }
  return drawing;
}

}  // namespace cortado::tools
