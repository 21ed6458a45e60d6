#include "layers/common/losses/class_weights.h"

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

ClassWeights::ClassWeights(const caffe::LossParameter& options)
    : field_("loss_param.class_weight"), values_(options.class_weight().begin(), options.class_weight().end()) {
  if (options.class_weighting_size() > 0 && !options.has_weight_by_label_freqs())
    throw FieldError("loss_param.class_weighting[0]", "it has no effect without weight_by_label_freqs: true",
                     "set weight_by_label_freqs to true, or to false to disable the weights");
  if (!options.weight_by_label_freqs()) return;
  if (given())
    throw FieldError("loss_param.class_weight[0]", "class_weight and weight_by_label_freqs are both set",
                     "set only one of them");
  if (options.class_weighting_size() == 0)
    throw FieldError("loss_param.weight_by_label_freqs", "class_weighting is missing",
                     "set one class_weighting for each class");
  field_ = "loss_param.class_weighting";
  count_as_one_ = true;
  values_.assign(options.class_weighting().begin(), options.class_weighting().end());
}

ClassWeights::ClassWeights(const caffe::SoftmaxParameter& options)
    : field_("softmax_param.pos_mult"), count_as_one_(true), single_(options.pos_cid()), pos_mult_(options.pos_mult()) {
  if (!options.has_pos_cid())
    throw FieldError("softmax_param", "pos_cid is missing", "set it to the class with the weight pos_mult");
  if (single_ < 0)
    throw FieldError("softmax_param.pos_cid", std::to_string(single_) + " is not a class", "classes count from 0");
}

void ClassWeights::check(int64_t classes) {
  if (single_ >= classes)
    throw FieldError("softmax_param.pos_cid",
                     std::to_string(single_) + " is not one of the " + std::to_string(classes) + " classes");
  if (single_ >= 0) {
    values_.assign(size_t(classes), 1.0f);
    values_[size_t(single_)] = pos_mult_;
  }
  const int64_t have = int64_t(values_.size());
  if (given() && have != classes)
    throw FieldError(miscounted(field_, have, classes),
                     count_of(have, "weight", "weights") + " for " + count_of(classes, "class", "classes"),
                     "set one for each class");
  for (size_t i = 0; i < values_.size(); ++i)
    if (!(values_[i] >= 0 && std::isfinite(values_[i])))
      throw FieldError(single_ >= 0 ? field_ : entry(field_, int64_t(i)),
                       "weight " + to_text(values_[i]) + " is not a finite number of 0 or more", "0 excludes a class");
}

void ClassWeights::place(Context& context) {
  if (!given()) return;
  placed_ = DeviceMemory(context, values_.size() * sizeof(float));
  copy_to_device(context, placed_.data(), values_.data(), values_.size() * sizeof(float));
}

}  // namespace cortado
