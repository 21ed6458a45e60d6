// CTCGreedyDecoder: the labels of the best path (layers/common/losses/best_path.h) of scores T x N x C, as N x T with
// -1 after the last label of each sequence. With labels as a second bottom y is the fraction of correct sequences, as
// in caffe_ocr's fork. There the blank is class 0, as for WarpCTCLoss, unless blank_index is set; -1 is the last class.
// ctc_merge_repeated: false keeps repetitions. The original layer's second bottom, sequence indicators, and its scores
// and edit distances are not available.

#include "layers/common/losses/best_path.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class CtcGreedyDecoderLayer : public BestPathLayer {
 public:
  explicit CtcGreedyDecoderLayer(const LayerOptions& options) : param_(options.config.ctc_decoder_param()) {
    merges_ = param_.ctc_merge_repeated();
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int64_t blank = param_.has_blank_index() ? param_.blank_index() : 0;
    return infer_paths(x, /*steps_first=*/true, blank, "ctc_decoder_param.blank_index");
  }

  bool differentiable(int) const override { return false; }

 private:
  const caffe::CtcDecoderParameter& param_;
};

const RegisterLayer register_ctc_greedy_decoder({
    .name = "CTCGreedyDecoder",
    .help = "the labels of the best class in each step, or the fraction of correct sequences",
    .options = "ctc_decoder_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<CtcGreedyDecoderLayer>,
});

}  // namespace

}  // namespace cortado
