#include "engine/data/jpeg.hpp"

#include "engine/base/json.hpp"

#ifdef LOCKSTEP_WITH_JPEG
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

// After <cstdio>, because it uses FILE.
#include <jpeglib.h>

#include <jerror.h>
#endif

namespace lockstep::data {

#ifndef LOCKSTEP_WITH_JPEG

bool has_jpeg() {
  return false;
}

class JpegImage::Decoder {};

JpegImage::JpegImage(const std::string&, std::string name) {
  throw InputError(name + ": this build reads no JPEG images (CMake found no libjpeg-turbo)");
}
int JpegImage::width() const {
  return 0;
}
int JpegImage::height() const {
  return 0;
}
void JpegImage::decode(const Region&, int, int, bool, std::uint8_t*) {}

#else

namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
constexpr int kMostScans = 100;
constexpr int kChannels = 3;
constexpr int kWeights = 256;

/// A place between two pixels of an axis: (kWeights - weight) of low and weight of high.
struct Tap {
  int low, high, weight;
};

/// Makes the taps of `count` pixels that divide [begin, begin + extent) of an axis of `size` pixels evenly.
std::vector<Tap> taps(int count, double begin, double extent, int size) {
  std::vector<Tap> result;
  for (int i = 0; i < count; ++i) {
    const double centre = begin + (i + 0.5) * extent / count - 0.5;
    const double inside = std::clamp(centre, 0.0, static_cast<double>(size - 1));
    const int low = static_cast<int>(inside);
    result.push_back({low, std::min(low + 1, size - 1), static_cast<int>((inside - low) * kWeights)});
  }
  return result;
}

/// Whether a warning of the decoder means corrupt data. Other warnings are about unusual but valid files.
bool tells_of_torn_data(int warning) {
  switch (warning) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_BOGUS_ICC:
      return false;
    default:
      return true;
  }
}

}  // namespace

bool has_jpeg() {
  return true;
}

/// On an error, libjpeg returns by longjmp. So functions that call it hold no objects with destructors.
class JpegImage::Decoder {
 public:
  Decoder(const std::string& content, std::string name) : content_(content), name_(std::move(name)) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = [](j_common_ptr info) {
      info->err->format_message(info, errors_of(info).message);
      leave(info);
    };
    errors_.manager.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && tells_of_torn_data(info->err->msg_code)) info->err->error_exit(info);
    };
    errors_.manager.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
      std::snprintf(errors_of(info).message, JMSG_LENGTH_MAX, "more than %d scans", kMostScans);
      leave(info);
    };
    try {
      guarded(&Decoder::open);
      check_size();
    } catch (...) {
      jpeg_destroy_decompress(&info_);
      throw;
    }
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  int width() const { return static_cast<int>(info_.image_width); }
  int height() const { return static_cast<int>(info_.image_height); }

  void decode(const Region& region, int height, int width, bool is_mirrored, std::uint8_t* planes) {
    choose_scale(region, height, width);
    guarded(&Decoder::start);
    const int decoded_width = static_cast<int>(info_.output_width),
              decoded_height = static_cast<int>(info_.output_height);
    const double across = static_cast<double>(info_.output_width) / info_.image_width;
    const double down = static_cast<double>(info_.output_height) / info_.image_height;
    std::vector<Tap> columns = taps(width, region.x * across, region.width * across, decoded_width);
    const std::vector<Tap> rows = taps(height, region.y * down, region.height * down, decoded_height);
    if (is_mirrored) std::reverse(columns.begin(), columns.end());
    first_row_ = rows.front().low;
    end_row_ = rows.back().high + 1;
    line_.resize(static_cast<std::size_t>(decoded_width) * static_cast<std::size_t>(info_.output_components));
    row_bytes_ = static_cast<std::size_t>(decoded_width) * kChannels;
    pixels_.resize(row_bytes_ * static_cast<std::size_t>(end_row_ - first_row_));
    guarded(&Decoder::read_rows);
    resize(rows, columns, planes);
  }

 private:
  struct Errors {
    jpeg_error_mgr manager;  // must be the first member: libjpeg gets a pointer to it
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };
  static Errors& errors_of(j_common_ptr info) { return *reinterpret_cast<Errors*>(info->err); }
  [[noreturn]] static void leave(j_common_ptr info) { std::longjmp(errors_of(info).jump, 1); }

  void guarded(void (Decoder::*step)()) {
    if (setjmp(errors_.jump) == 0)
      (this->*step)();
    else
      throw InputError(name_ + ": " + errors_.message);
  }

  void open() {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(content_.data()), content_.size());
    jpeg_read_header(&info_, TRUE);
  }

  void check_size() const {
    const std::int64_t pixels = std::int64_t{info_.image_width} * info_.image_height;
    if (pixels > kMostPixels)
      throw InputError(name_ + ": " + std::to_string(info_.image_width) + "x" + std::to_string(info_.image_height) +
                       " pixels; allowed: at most " + std::to_string(kMostPixels));
  }

  void choose_scale(const Region& region, int height, int width) {
    info_.scale_denom = 8;
    info_.scale_num = 1;
    const auto holds = [&](int size, int wanted) { return size * static_cast<int>(info_.scale_num) >= 8 * wanted; };
    while (info_.scale_num < 8 && !(holds(region.width, width) && holds(region.height, height))) info_.scale_num *= 2;
  }

  void start() {
    const bool has_black = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = has_black ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
  }

  void read_rows() {
    for (int row = 0; row < end_row_; ++row) {
      JSAMPROW line = line_.data();
      jpeg_read_scanlines(&info_, &line, 1);
      if (row >= first_row_) keep_line(pixels_.data() + static_cast<std::size_t>(row - first_row_) * row_bytes_);
    }
  }

  void keep_line(std::uint8_t* to) const {
    if (info_.out_color_space == JCS_RGB) {
      std::memcpy(to, line_.data(), row_bytes_);
      return;
    }
    // Adobe stores inverted values: 255 means no ink.
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    const std::uint8_t* from = line_.data();
    for (const std::uint8_t* const end = to + row_bytes_; to != end; to += kChannels, from += 4)
      for (int c = 0; c < kChannels; ++c) to[c] = static_cast<std::uint8_t>((from[c] ^ flip) * (from[3] ^ flip) / 255);
  }

  void resize(const std::vector<Tap>& rows, const std::vector<Tap>& columns, std::uint8_t* planes) const {
    std::vector<std::uint16_t> blended(row_bytes_);
    const std::size_t plane = rows.size() * columns.size();
    for (const Tap& row : rows) {
      const std::uint8_t* top = pixels_.data() + static_cast<std::size_t>(row.low - first_row_) * row_bytes_;
      const std::uint8_t* bottom = pixels_.data() + static_cast<std::size_t>(row.high - first_row_) * row_bytes_;
      for (std::size_t i = 0; i < row_bytes_; ++i)
        blended[i] = static_cast<std::uint16_t>(top[i] * (kWeights - row.weight) + bottom[i] * row.weight);
      for (const Tap& column : columns) {
        const std::uint16_t* left = blended.data() + std::ptrdiff_t{column.low} * kChannels;
        const std::uint16_t* right = blended.data() + std::ptrdiff_t{column.high} * kChannels;
        for (std::size_t c = 0; c < kChannels; ++c) {
          const int sum = left[c] * (kWeights - column.weight) + right[c] * column.weight;
          planes[c * plane] = static_cast<std::uint8_t>((sum + kWeights * kWeights / 2) / (kWeights * kWeights));
        }
        ++planes;
      }
    }
  }

  const std::string& content_;
  std::string name_;
  Errors errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  int first_row_ = 0, end_row_ = 0;  ///< rows that are kept, the end excluded
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t> line_, pixels_;
};

JpegImage::JpegImage(const std::string& content, std::string name)
    : decoder_(std::make_unique<Decoder>(content, std::move(name))) {}

int JpegImage::width() const {
  return decoder_->width();
}

int JpegImage::height() const {
  return decoder_->height();
}

void JpegImage::decode(const Region& region, int height, int width, bool is_mirrored, std::uint8_t* planes) {
  decoder_->decode(region, height, width, is_mirrored, planes);
}

#endif

JpegImage::~JpegImage() = default;

}  // namespace lockstep::data
