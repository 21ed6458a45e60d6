#include "data/inspect/odd_images.h"

#include "data/inspect/class_names.h"

namespace cortado::data {

void OddImageFinder::look(const Sample& sample, const std::string& name, Label label, int set) {
  if (is_near_black(sample)) {
    if (found_.dark++ < OddImages::kMaxListed) found_.listed_dark.push_back(name);
    return;  // black images are trivially duplicates of each other
  }
  const auto [at, fresh] = firsts_.try_emplace(pixel_digest(sample), First{name, label, set});
  if (fresh) return;
  const First& first = at->second;
  const bool is_leak = set != first.set;
  const int64_t before = is_leak ? found_.leaks : found_.doubles - found_.leaks;
  if (before < OddImages::kMaxListed)
    found_.listed_doubles.push_back({name, first.name, label, first.label, set, first.set});
  ++found_.doubles;
  found_.contradictions += label != first.label;
  found_.leaks += is_leak;
}

}  // namespace cortado::data
