#pragma once
// Copies windows of images to columns of a matrix, and back (im2col, col2im). Row (c, r, s) holds the input of tap (r,
// s) of channel c for every output pixel.
#include <algorithm>
#include <cstdint>

#include "engine/model/graph.hpp"

namespace lockstep::host {

/// Channels [first, first + count) of a layer's input.
struct Channels {
  int first;
  int count;
};

/// Output positions [first, last) of an axis for which window element `offset` is inside the image.
struct Range {
  int first;
  int last;
};
inline Range inside(int offset, int pad, int stride, int size, int positions) {
  const auto rounded_up = [&](int value) { return value <= 0 ? 0 : (value + stride - 1) / stride; };
  const int last = std::min(positions, rounded_up(size + pad - offset));
  return {std::min(rounded_up(pad - offset), last), last};
}

template <typename Scalar>
void tap_to_row(const model::Layer& layer, const Scalar* plane, int r, int s, Scalar* row) {
  const model::Shape& shape = layer.in;
  const model::Window& w = layer.window;
  const int width = layer.out.width;
  const Range q = inside(s, w.pad_left, w.stride_w, shape.width, width);
  for (int p = 0; p < layer.out.height; ++p, row += width) {
    const int h = p * w.stride_h - w.pad_top + r;
    if (h < 0 || h >= shape.height) {
      std::fill_n(row, width, Scalar{0});
      continue;
    }
    const Scalar* from = plane + (std::int64_t{h} * shape.width + s - w.pad_left);
    for (int i = 0; i < q.first; ++i) row[i] = 0;
    if (w.stride_w == 1)
      for (int i = q.first; i < q.last; ++i) row[i] = from[i];
    else
      for (int i = q.first; i < q.last; ++i) row[i] = from[i * w.stride_w];
    for (int i = q.last; i < width; ++i) row[i] = 0;
  }
}

template <typename Scalar>
void add_row_to_tap(const model::Layer& layer, const Scalar* row, int r, int s, Scalar* plane) {
  const model::Shape& shape = layer.in;
  const model::Window& w = layer.window;
  const int width = layer.out.width;
  const Range q = inside(s, w.pad_left, w.stride_w, shape.width, width);
  const Range p = inside(r, w.pad_top, w.stride_h, shape.height, layer.out.height);
  for (int j = p.first; j < p.last; ++j) {
    const Scalar* from = row + j * width;
    Scalar* to = plane + (std::int64_t{j} * w.stride_h - w.pad_top + r) * shape.width + s - w.pad_left;
    if (w.stride_w == 1)
      for (int i = q.first; i < q.last; ++i) to[i] += from[i];
    else
      for (int i = q.first; i < q.last; ++i) to[i * w.stride_w] += from[i];
  }
}

/// Writes the rows of these channels for one image, with `stride` elements between rows. `image` holds all channels.
template <typename Scalar>
void image_to_columns(const model::Layer& layer, const Channels& channels, const Scalar* image, Scalar* columns,
                      std::int64_t stride) {
  const std::int64_t plane = std::int64_t{layer.in.height} * layer.in.width;
  for (int c = channels.first; c < channels.first + channels.count; ++c) {
    for (int r = 0; r < layer.window.kernel_h; ++r)
      for (int s = 0; s < layer.window.kernel_w; ++s, columns += stride)
        tap_to_row(layer, image + c * plane, r, s, columns);
  }
}

/// Adds each element of the columns to the pixel from which image_to_columns() copies it.
template <typename Scalar>
void columns_to_image(const model::Layer& layer, const Channels& channels, const Scalar* columns, std::int64_t stride,
                      Scalar* image) {
  const std::int64_t plane = std::int64_t{layer.in.height} * layer.in.width;
  for (int c = channels.first; c < channels.first + channels.count; ++c) {
    for (int r = 0; r < layer.window.kernel_h; ++r)
      for (int s = 0; s < layer.window.kernel_w; ++s, columns += stride)
        add_row_to_tap(layer, columns, r, s, image + c * plane);
  }
}

}  // namespace lockstep::host
