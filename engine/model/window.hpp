#pragma once
// The windows of convolutions and poolings. A separate header, so that kernels need not include the description of
// networks.

namespace lockstep::model {

/// Kernel, stride and padding of a convolution or pooling (a subsample uses only the stride). Padding is per side and
/// axis; zero if unused.
struct Window {
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool ceil = false;  ///< pooling: output size rounded up (Caffe) instead of down
  int groups = 1;     ///< convolutions
  bool operator==(const Window& o) const;
};

}  // namespace lockstep::model
