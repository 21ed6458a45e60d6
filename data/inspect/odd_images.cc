#include "data/inspect/odd_images.h"

#include "data/inspect/class_names.h"

namespace cortado::data {

void OddImageFinder::look(const Sample& sample, const std::string& name, int32_t label, bool tests) {
  if (is_near_black(sample)) {
    if (found_.dark++ < int64_t(OddImages::kMaxListed)) found_.listed_dark.push_back(name);
    return;  // black images are trivially duplicates of each other
  }
  const auto [at, fresh] = firsts_.try_emplace(pixel_digest(sample), First{name, label, tests});
  if (fresh) return;
  const First& first = at->second;
  if (found_.doubles++ < int64_t(OddImages::kMaxListed))
    found_.listed_doubles.push_back({name, first.name, label, first.label, tests, first.tests});
  found_.contradictions += label != first.label;
  found_.leaks += tests != first.tests;
}

}  // namespace cortado::data
