#include "net/derived_weights.h"

namespace cortado {

std::shared_ptr<DerivedWeights::Entry> DerivedWeights::entry(Context& context, const std::string& node,
                                                             const std::vector<kernels::WeightFormat>& formats) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const std::weak_ptr<Entry>& known) { return known.expired(); });
  for (const std::weak_ptr<Entry>& known : entries_)
    if (const auto entry = known.lock(); entry && entry->node == node && entry->formats == formats) return entry;
  auto fresh = std::make_shared<Entry>();
  fresh->node = node;
  fresh->formats = formats;
  size_t bytes = 0;
  for (const kernels::WeightFormat& format : formats) bytes += whole_lines(format.bytes());
  fresh->memory = DeviceMemory(context, bytes);
  std::byte* part = fresh->memory.data();
  for (const kernels::WeightFormat& format : formats) {
    fresh->parts.push_back(part);
    part += whole_lines(format.bytes());
  }
  entries_.push_back(fresh);
  return fresh;
}

void DerivedWeights::refresh(Context& context, Entry& entry, const std::function<void()>& make) {
  const std::lock_guard lock(mutex_);
  if (entry.version == version_) return;
  make();
  synchronize(context);
  entry.version = version_;
}

}  // namespace cortado
