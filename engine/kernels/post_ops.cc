#include "kernels/post_ops.h"

#include <sstream>

namespace cortado::kernels {

namespace {

/// Appends a step to `post`; returns false if it would have to precede an existing one.
struct Append {
  PostOps& post;

  bool operator()(const ChannelAffine& affine) const {
    if (post.sum || post.activation) return false;
    post.affine.push_back(affine);
    return true;
  }
  bool operator()(SumOfTwo) const {
    if (post.sum || post.activation) return false;
    return post.sum = true;
  }
  bool operator()(const Activation& activation) const {
    if (post.activation) return false;
    post.activation = activation;
    return true;
  }
};

}  // namespace

std::string name_of(const Activation& activation) {
  std::ostringstream text;
  switch (activation.kind) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      text << "relu";
      break;
    case Activation::kClippedRelu:
      text << "relu" << activation.ceiling;
      break;
    case Activation::kSigmoid:
      text << "sigmoid";
      break;
    case Activation::kSwish:
      text << "swish";
      break;
    case Activation::kGelu:
      text << "gelu";
      break;
  }
  return text.str();
}

std::optional<PostOps> PostOps::followed_by(const PostOp& next) const {
  PostOps post = *this;
  if (!std::visit(Append{post}, next)) return std::nullopt;
  return post;
}

std::string to_text(const PostOps& post) {
  std::string text = post.affine.empty() ? "" : "affine";
  for (const std::string& part : {std::string(post.sum ? "sum" : ""), name_of(post.activation)})
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace cortado::kernels
