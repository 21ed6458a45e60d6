// What each dialect of Caffe has: layer types, fields of messages, values of enums. Facts only; fit.cc uses them.
#include "graph/dialect/table.h"

#include <algorithm>
#include <span>

namespace cortado::dialect {

namespace {

constexpr unsigned kBvlc = unsigned(Target::kBvlc), kSsd = unsigned(Target::kSsd),
                   kNvcaffe = unsigned(Target::kNvcaffe), kAll = kBvlc | kSsd | kNvcaffe;

constexpr Row kTypes[] = {
    {"", kAll,
     "AbsVal Accuracy ArgMax BatchNorm BatchReindex Bias BNLL Concat ContrastiveLoss Convolution Crop Data "
     "Deconvolution Dropout DummyData Eltwise ELU Embed EuclideanLoss Exp Filter Flatten HDF5Data HDF5Output "
     "HingeLoss Im2col ImageData InfogainLoss InnerProduct Input Log LRN LSTM LSTMUnit MemoryData "
     "MultinomialLogisticLoss MVN Pooling Power PReLU Python Reduction ReLU Reshape RNN Scale Sigmoid "
     "SigmoidCrossEntropyLoss Silence Slice Softmax SoftmaxWithLoss Split SPP TanH Threshold Tile WindowData"},
    {"", kBvlc | kSsd, "Parameter"},
    {"", kSsd | kNvcaffe,
     "AnnotatedData DetectionEvaluate DetectionOutput MultiBoxLoss Normalize Permute PriorBox SmoothL1Loss "
     "VideoData"},
    {"", kNvcaffe, "Axpy DetectNetTransformation L1Loss TRT"},
};

constexpr Row kFields[] = {
    {"AccuracyParameter", kAll, "top_k axis ignore_label"},
    {"AnnotatedDataParameter", kSsd | kNvcaffe, "batch_sampler label_map_file anno_type"},
    {"ArgMaxParameter", kAll, "out_max_val top_k axis"},
    {"BatchNormParameter", kAll, "use_global_stats moving_average_fraction eps"},
    {"BatchNormParameter", kNvcaffe, "scale_filler bias_filler scale_bias engine"},
    {"BatchSampler", kSsd | kNvcaffe, "use_original_image sampler sample_constraint max_sample max_trials"},
    {"BiasParameter", kAll, "axis num_axes filler"},
    {"BlobProto", kAll, "shape data diff double_data double_diff num channels height width"},
    {"BlobProto", kNvcaffe, "raw_data_type raw_diff_type raw_data raw_diff"},
    {"BlobShape", kAll, "dim"},
    {"ConcatParameter", kAll, "axis concat_dim"},
    {"ContrastiveLossParameter", kAll, "margin legacy_version"},
    {"ConvolutionParameter", kAll,
     "num_output bias_term pad kernel_size stride dilation pad_h pad_w kernel_h kernel_w stride_h stride_w "
     "group weight_filler bias_filler engine axis force_nd_im2col"},
    {"ConvolutionParameter", kNvcaffe, "cudnn_convolution_algo_seeker conv_algos_override"},
    {"CropParameter", kAll, "axis offset"},
    {"DataParameter", kAll,
     "source batch_size rand_skip backend scale mean_file crop_size mirror force_encoded_color prefetch"},
    {"DataParameter", kNvcaffe, "threads parser_threads cache shuffle precache"},
    {"DetectNetAugmentationParameter", kNvcaffe,
     "crop_prob shift_x shift_y scale_prob scale_min scale_max flip_prob rotation_prob max_rotate_degree "
     "hue_rotation_prob hue_rotation desaturation_prob desaturation_max resize_param noise_param distort_param "
     "expand_param emit_constraint"},
    {"DetectNetGroundTruthParameter", kNvcaffe,
     "stride scale_cvg gridbox_type max_cvg_len min_cvg_len coverage_type image_size_x image_size_y obj_norm "
     "crop_bboxes object_class"},
    {"DetectionEvaluateParameter", kSsd | kNvcaffe,
     "num_classes background_label_id overlap_threshold evaluate_difficult_gt name_size_file resize_param"},
    {"DetectionOutputParameter", kSsd | kNvcaffe,
     "num_classes share_location background_label_id nms_param save_output_param code_type "
     "variance_encoded_in_target keep_top_k confidence_threshold visualize visualize_threshold save_file"},
    {"DistortionParameter", kSsd | kNvcaffe,
     "brightness_prob brightness_delta contrast_prob contrast_lower contrast_upper hue_prob hue_delta "
     "saturation_prob saturation_lower saturation_upper random_order_prob"},
    {"DropoutParameter", kAll, "dropout_ratio"},
    {"DropoutParameter", kNvcaffe, "engine random_seed"},
    {"DummyDataParameter", kAll, "data_filler shape num channels height width"},
    {"ELUParameter", kAll, "alpha"},
    {"ELUParameter", kNvcaffe, "lambda"},
    {"EltwiseParameter", kAll, "operation coeff stable_prod_grad"},
    {"EmbedParameter", kAll, "num_output input_dim bias_term weight_filler bias_filler"},
    {"EmitConstraint", kSsd | kNvcaffe, "emit_type emit_overlap"},
    {"ExpParameter", kAll, "base scale shift"},
    {"ExpansionParameter", kSsd | kNvcaffe, "prob max_expand_ratio"},
    {"FillerParameter", kAll, "type value min max mean std sparse variance_norm"},
    {"FlattenParameter", kAll, "axis end_axis"},
    {"HDF5DataParameter", kAll, "source batch_size shuffle"},
    {"HDF5OutputParameter", kAll, "file_name"},
    {"HingeLossParameter", kAll, "norm"},
    {"ImageDataParameter", kAll,
     "source batch_size rand_skip shuffle new_height new_width is_color scale mean_file crop_size mirror "
     "root_folder"},
    {"ImageDataParameter", kNvcaffe, "short_side threads cache precache dataset_share_per_node"},
    {"InfogainLossParameter", kAll, "source"},
    {"InfogainLossParameter", kBvlc | kSsd, "axis"},
    {"InnerProductParameter", kAll, "num_output bias_term weight_filler bias_filler axis transpose"},
    {"InputParameter", kAll, "shape"},
    {"LRNParameter", kAll, "local_size alpha beta norm_region k engine"},
    {"LayerParameter", kAll,
     "name type bottom top phase loss_weight param blobs propagate_down include exclude transform_param "
     "loss_param accuracy_param argmax_param batch_norm_param bias_param concat_param contrastive_loss_param "
     "convolution_param crop_param data_param dropout_param dummy_data_param eltwise_param elu_param "
     "embed_param exp_param flatten_param hdf5_data_param hdf5_output_param hinge_loss_param image_data_param "
     "infogain_loss_param inner_product_param input_param log_param lrn_param memory_data_param mvn_param "
     "pooling_param power_param prelu_param python_param recurrent_param reduction_param relu_param "
     "reshape_param scale_param sigmoid_param softmax_param spp_param slice_param tanh_param threshold_param "
     "tile_param window_data_param"},
    {"LayerParameter", kBvlc | kSsd, "parameter_param"},
    {"LayerParameter", kSsd | kNvcaffe,
     "annotated_data_param multibox_loss_param permute_param prior_box_param detection_output_param "
     "detection_evaluate_param norm_param video_data_param"},
    {"LayerParameter", kNvcaffe,
     "forward_type backward_type forward_math backward_math debug cudnn_math_override trt_param "
     "detectnet_groundtruth_param detectnet_augmentation_param"},
    {"LogParameter", kAll, "base scale shift"},
    {"LossParameter", kAll, "ignore_label normalization normalize"},
    {"LossParameter", kNvcaffe, "label_smoothing"},
    {"MVNParameter", kAll, "normalize_variance across_channels eps"},
    {"MemoryDataParameter", kAll, "batch_size channels height width"},
    {"MultiBoxLossParameter", kSsd | kNvcaffe,
     "loc_loss_type conf_loss_type loc_weight num_classes share_location match_type overlap_threshold "
     "use_prior_for_matching background_label_id use_difficult_gt do_neg_mining neg_pos_ratio neg_overlap "
     "code_type encode_variance_in_target map_object_to_agnostic ignore_cross_boundary_bbox bp_inside "
     "mining_type nms_param sample_size use_prior_for_nms"},
    {"MultiBoxLossParameter", kNvcaffe, "ignore_difficult_gt"},
    {"NetParameter", kAll, "name input input_shape input_dim force_backward state debug_info layer"},
    {"NetParameter", kNvcaffe,
     "default_forward_type default_backward_type default_forward_math default_backward_math global_grad_scale "
     "global_grad_scale_adaptive default_conv_algos_override reduce_buckets default_cudnn_math_override "
     "eltwise_mem_sharing"},
    {"NetState", kAll, "phase level stage"},
    {"NetStateRule", kAll, "phase min_level max_level stage not_stage"},
    {"NoiseParameter", kSsd | kNvcaffe,
     "prob hist_eq inverse decolorize gauss_blur jpeg posterize erode saltpepper saltpepper_param clahe "
     "convert_to_hsv convert_to_lab"},
    {"NonMaximumSuppressionParameter", kSsd | kNvcaffe, "nms_threshold top_k eta"},
    {"NormalizeParameter", kSsd | kNvcaffe, "across_spatial scale_filler channel_shared eps"},
    {"PReLUParameter", kAll, "filler channel_shared"},
    {"ParamSpec", kAll, "name share_mode lr_mult decay_mult"},
    {"ParameterParameter", kBvlc | kSsd, "shape"},
    {"PermuteParameter", kSsd | kNvcaffe, "order"},
    {"PoolingParameter", kAll,
     "pool pad pad_h pad_w kernel_size kernel_h kernel_w stride stride_h stride_w engine global_pooling"},
    {"PoolingParameter", kNvcaffe, "torch_pooling"},
    {"PowerParameter", kAll, "power scale shift"},
    {"PriorBoxParameter", kSsd | kNvcaffe,
     "min_size max_size aspect_ratio flip clip variance img_size img_h img_w step step_h step_w offset"},
    {"PythonParameter", kAll, "module layer param_str share_in_parallel"},
    {"ReLUParameter", kAll, "negative_slope engine"},
    {"RecurrentParameter", kAll, "num_output weight_filler bias_filler debug_info expose_hidden"},
    {"ReductionParameter", kAll, "operation axis coeff"},
    {"ReshapeParameter", kAll, "shape axis num_axes"},
    {"ResizeParameter", kSsd | kNvcaffe,
     "prob resize_mode height width height_scale width_scale pad_mode pad_value interp_mode"},
    {"SPPParameter", kAll, "pyramid_height pool engine"},
    {"SaltPepperParameter", kSsd | kNvcaffe, "fraction value"},
    {"SampleConstraint", kSsd | kNvcaffe,
     "min_jaccard_overlap max_jaccard_overlap min_sample_coverage max_sample_coverage min_object_coverage "
     "max_object_coverage"},
    {"Sampler", kSsd | kNvcaffe, "min_scale max_scale min_aspect_ratio max_aspect_ratio"},
    {"SaveOutputParameter", kSsd | kNvcaffe,
     "output_directory output_name_prefix output_format label_map_file name_size_file num_test_image "
     "resize_param"},
    {"ScaleParameter", kAll, "axis num_axes filler bias_term bias_filler"},
    {"SigmoidParameter", kAll, "engine"},
    {"SliceParameter", kAll, "axis slice_point slice_dim"},
    {"SoftmaxParameter", kAll, "engine axis"},
    {"TRTParameter", kNvcaffe, "trt_mode top_k deploy model deploy_outputs calibrator"},
    {"TanHParameter", kAll, "engine"},
    {"ThresholdParameter", kAll, "threshold"},
    {"TileParameter", kAll, "axis tiles"},
    {"TransformationParameter", kAll, "scale mirror crop_size mean_file mean_value force_color force_gray"},
    {"TransformationParameter", kSsd | kNvcaffe,
     "resize_param noise_param emit_constraint crop_h crop_w distort_param expand_param"},
    {"TransformationParameter", kNvcaffe,
     "img_rand_resize_lower img_rand_resize_upper rand_resize_ratio_lower rand_resize_ratio_upper "
     "vertical_stretch_lower vertical_stretch_upper horizontal_stretch_lower horizontal_stretch_upper "
     "interpolation_algo_down interpolation_algo_up allow_upscale forward_packing use_gpu_transform random_seed "
     "display num_labels"},
    {"VideoDataParameter", kSsd | kNvcaffe, "video_type device_id video_file skip_frames"},
    {"WindowDataParameter", kAll,
     "source scale mean_file batch_size crop_size mirror fg_threshold bg_threshold fg_fraction context_pad "
     "crop_mode cache_images root_folder"},
};

constexpr Row kValues[] = {
    {"AnnotatedDatum.AnnotationType", kSsd | kNvcaffe, "BBOX"},
    {"BatchNormParameter.Engine", kNvcaffe, "DEFAULT CAFFE CUDNN"},
    {"ConvolutionParameter.CuDNNConvolutionAlgorithmSeeker", kNvcaffe, "GET FINDEX"},
    {"ConvolutionParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"DataParameter.DB", kAll, "LEVELDB LMDB"},
    {"DetectNetGroundTruthParameter.CoverageType", kNvcaffe, "RECTANGULAR"},
    {"DetectNetGroundTruthParameter.GridboxType", kNvcaffe, "GRIDBOX_MAX GRIDBOX_MIN"},
    {"DropoutParameter.Engine", kNvcaffe, "DEFAULT CAFFE CUDNN"},
    {"EltwiseParameter.EltwiseOp", kAll, "PROD SUM MAX"},
    {"EmitConstraint.EmitType", kSsd | kNvcaffe, "CENTER MIN_OVERLAP"},
    {"FillerParameter.VarianceNorm", kAll, "FAN_IN FAN_OUT AVERAGE"},
    {"HingeLossParameter.Norm", kAll, "L1 L2"},
    {"LRNParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"LRNParameter.NormRegion", kAll, "ACROSS_CHANNELS WITHIN_CHANNEL"},
    {"LossParameter.NormalizationMode", kAll, "FULL VALID BATCH_SIZE NONE"},
    {"MultiBoxLossParameter.ConfLossType", kSsd | kNvcaffe, "SOFTMAX LOGISTIC"},
    {"MultiBoxLossParameter.LocLossType", kSsd | kNvcaffe, "L2 SMOOTH_L1"},
    {"MultiBoxLossParameter.MatchType", kSsd | kNvcaffe, "BIPARTITE PER_PREDICTION"},
    {"MultiBoxLossParameter.MiningType", kSsd | kNvcaffe, "NONE MAX_NEGATIVE HARD_EXAMPLE"},
    {"Packing", kNvcaffe, "NCHW NHWC"},
    {"ParamSpec.DimCheckMode", kAll, "STRICT PERMISSIVE"},
    {"Phase", kAll, "TRAIN TEST"},
    {"PoolingParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"PoolingParameter.PoolMethod", kAll, "MAX AVE STOCHASTIC"},
    {"PriorBoxParameter.CodeType", kSsd | kNvcaffe, "CORNER CENTER_SIZE CORNER_SIZE"},
    {"ReLUParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"ReductionParameter.ReductionOp", kAll, "SUM ASUM SUMSQ MEAN"},
    {"ResizeParameter.Interp_mode", kSsd | kNvcaffe, "LINEAR AREA NEAREST CUBIC LANCZOS4"},
    {"ResizeParameter.Pad_mode", kSsd | kNvcaffe, "CONSTANT MIRRORED REPEAT_NEAREST"},
    {"ResizeParameter.Resize_mode", kSsd | kNvcaffe, "WARP FIT_SMALL_SIZE FIT_LARGE_SIZE_AND_PAD"},
    {"SPPParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"SPPParameter.PoolMethod", kAll, "MAX AVE STOCHASTIC"},
    {"SigmoidParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"SoftmaxParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"TRTParameter.TRTMode", kNvcaffe, "FP32 FP16 INT8"},
    {"TanHParameter.Engine", kAll, "DEFAULT CAFFE CUDNN"},
    {"TransformationParameter.InterpolationAlgo", kNvcaffe, "INTER_NEAREST INTER_LINEAR INTER_CUBIC INTER_AREA"},
    {"Type", kNvcaffe, "DOUBLE FLOAT FLOAT16 INT UINT BOOL"},
    {"VideoDataParameter.VideoType", kSsd | kNvcaffe, "WEBCAM VIDEO"},
};

/// Fields that affect speed only: they are left out where a dialect lacks them.
constexpr Row kWithoutEffect[] = {
    {"LayerParameter", kAll,
     "forward_type backward_type forward_math backward_math debug cudnn_math_override engine multinode "
     "mn_grad_compress_param quantization_param"},
    {"ConvolutionParameter", kAll,
     "engine force_nd_im2col cudnn_convolution_algo_seeker conv_algos_override conv_algorithm coeff fusion_type"},
    {"BatchNormParameter", kAll, "engine"},
    {"BNParameter", kAll, "engine"},
    {"ConcatParameter", kAll, "engine"},
    {"EltwiseParameter", kAll, "engine"},
    {"DropoutParameter", kAll, "engine random_seed"},
    {"InnerProductParameter", kAll, "engine"},
    {"LRNParameter", kAll, "engine"},
    {"PoolingParameter", kAll, "engine"},
    {"ReLUParameter", kAll, "engine fuse"},
    {"SigmoidParameter", kAll, "engine"},
    {"SoftmaxParameter", kAll, "engine"},
    {"SPPParameter", kAll, "engine"},
    {"TanHParameter", kAll, "engine"},
    {"DataParameter", kAll, "threads parser_threads cache precache prefetch"},
    {"ImageDataParameter", kAll, "threads cache precache"},
};

/// Types whose bottoms must have four axes.
constexpr Row kImages[] = {{"", kAll, "Pooling LRN SPP"}};

/// Whether `name` is one of the words of `names`.
bool lists(std::string_view names, std::string_view name) {
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

/// The dialects that have `name` of `owner`.
unsigned having(std::span<const Row> rows, std::string_view owner, std::string_view name) {
  unsigned found = 0;
  for (const Row& row : rows)
    if (row.owner == owner && lists(row.names, name)) found |= row.dialects;
  return found;
}

}  // namespace

bool has_type(Target target, std::string_view type) { return (having(kTypes, "", type) & unsigned(target)) != 0; }
bool has_field(Target target, std::string_view message, std::string_view field) {
  return (having(kFields, message, field) & unsigned(target)) != 0;
}
bool has_value(Target target, std::string_view type, std::string_view value) {
  return (having(kValues, type, value) & unsigned(target)) != 0;
}
bool is_without_effect(std::string_view message, std::string_view field) {
  return having(kWithoutEffect, message, field) != 0;
}
bool needs_images(std::string_view type) { return having(kImages, "", type) != 0; }

const std::vector<std::pair<std::string, Target>>& all_targets() {
  static const std::vector<std::pair<std::string, Target>> all = {
      {"bvlc", Target::kBvlc}, {"ssd", Target::kSsd}, {"nvcaffe", Target::kNvcaffe}};
  return all;
}

std::string title_of(Target target) {
  switch (target) {
    case Target::kBvlc:
      return "BVLC Caffe 1.0";
    case Target::kSsd:
      return "the SSD fork";
    case Target::kNvcaffe:
      return "NVIDIA Caffe 0.17";
  }
  return "";
}

}  // namespace cortado::dialect
