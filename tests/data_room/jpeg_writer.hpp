#pragma once
// Writes JPEG files for tests, with the library that also reads them.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

// Must follow <cstdio>, because it uses FILE.
#include <jpeglib.h>

namespace lockstep::data {

enum class JpegKind { colour, grey, cmyk, progressive };

/// Makes an image whose pixel (x, y) has these values, one per channel of the kind. At the best quality, colours are
/// not subsampled. At lower quality they are, by two in each direction, as in cameras.
inline std::string jpeg_file(int width, int height, const std::function<std::vector<int>(int, int)>& values,
                             JpegKind kind = JpegKind::colour, int quality = 100) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind == JpegKind::grey ? 1 : kind == JpegKind::cmyk ? 4 : 3;
  info.in_color_space = kind == JpegKind::grey ? JCS_GRAYSCALE : kind == JpegKind::cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  for (int c = 0; c < info.num_components && quality == 100; ++c)
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  if (kind == JpegKind::progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    std::vector<unsigned char> row;
    for (int x = 0; x < width; ++x)
      for (const int value : values(x, y)) row.push_back(static_cast<unsigned char>(value));
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string file(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return file;
}

/// Makes an image that has a single colour.
inline std::string plain_jpeg(int width, int height, int red, int green, int blue) {
  return jpeg_file(width, height, [&](int, int) { return std::vector<int>{red, green, blue}; });
}

}  // namespace lockstep::data
