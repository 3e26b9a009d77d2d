#pragma once
// Precisions of networks, by name.
#include <cstdint>
#include <string>

namespace lockstep::device {

/// The precision of arithmetic and of stored activations. Master parameters and returned gradients are always float.
enum class Precision { fp32, tf32, fp16, bf16 };
std::string to_string(Precision precision);
/// Throws std::invalid_argument for an unknown name.
Precision precision_from(const std::string& name);
/// Returns the bytes of a number in memory: 2 for fp16 and bf16, else 4.
std::int64_t element_bytes(Precision precision);
/// The default precision of a device: TF32 on "cuda", because fp32 would leave tensor cores idle; fp32 on "host".
Precision usual_precision(const std::string& device);

}  // namespace lockstep::device
