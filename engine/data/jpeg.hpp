#pragma once
// JPEG images by libjpeg-turbo, decoded no larger and no farther down than what is asked for needs.
//
// An image whose data end early or are torn is refused, and so is one of more than 2^26 pixels or 100 scans: the decoder's
// guesses would be trained on. Grey, CMYK and YCCK images become RGB (a CMYK image without a colour profile by
// R = 255 (1 - C) (1 - K)). Pixels are those of this machine's libjpeg-turbo; another version's may differ by a step.
#include <cstdint>
#include <memory>
#include <string>

#include "engine/data/dataset.hpp"

namespace lockstep::data {

/// Whether this build has libjpeg-turbo.
bool has_jpeg();

/// A rectangle of an image, in pixels from its upper left corner.
struct Region {
  int x, y, width, height;
};

class JpegImage {
 public:
  /// `content` must outlive it; `name` stands for the file in errors. Throws InputError where it is no JPEG image, or one
  /// that is refused.
  JpegImage(const std::string& content, std::string name);
  ~JpegImage();
  JpegImage(const JpegImage&) = delete;
  JpegImage& operator=(const JpegImage&) = delete;

  int width() const;
  int height() const;
  /// `region` of it, resized bilinearly to 3 x height x width bytes, red, green and blue one after another; mirrored left to
  /// right where wanted. The image is decoded at an eighth, a quarter, half or all of its size: the smallest in which the
  /// region still has this size, and so averages what a larger image has beside. Once for an image. Throws InputError.
  void decode(const Region& region, int height, int width, bool is_mirrored, std::uint8_t* planes);

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lockstep::data
