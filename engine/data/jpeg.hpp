#pragma once
// Decodes JPEG images with libjpeg-turbo, at the smallest sufficient scale and only the rows that the region needs.
//
// An image with truncated or corrupt data is refused, because training would use the decoder's guesses. Images of more
// than 2^26 pixels or 100 scans are refused, too. Grey, CMYK and YCCK images are converted to RGB (CMYK without a
// colour profile by R = 255 (1 - C) (1 - K)). Pixels depend on the version of libjpeg-turbo; versions may differ by one
// step of 255.
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
  /// `content` must outlive this object; errors name the file `name`. Throws InputError if it is no JPEG image or is
  /// refused.
  JpegImage(const std::string& content, std::string name);
  ~JpegImage();
  JpegImage(const JpegImage&) = delete;
  JpegImage& operator=(const JpegImage&) = delete;

  int width() const;
  int height() const;
  /// Resizes `region` bilinearly to 3 x height x width bytes (a plane each of red, green and blue); mirrors it left to
  /// right if asked. The image is decoded at 1/8, 1/4, 1/2 or its full size. The smallest size is used at which the
  /// region is not smaller than the result, so that decoding averages pixels. Call once per image. Throws InputError.
  void decode(const Region& region, int height, int width, bool is_mirrored, std::uint8_t* planes);

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lockstep::data
