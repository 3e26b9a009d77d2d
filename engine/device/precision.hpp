#pragma once
// Precisions of networks, by name.
#include <cstdint>
#include <string>

namespace lockstep::device {

/// Arithmetic and storage of activations. Master parameters and the gradients handed out are always float.
enum class Precision { fp32, tf32, fp16, bf16 };
std::string to_string(Precision precision);
/// Throws std::invalid_argument for an unknown name.
Precision precision_from(const std::string& name);
/// Of a number in memory: 2 in fp16 and bf16, else 4.
std::int64_t element_bytes(Precision precision);
/// Of networks where nobody asks for one: TF32 on "cuda", whose tensor cores single precision leaves idle, fp32 on "host".
Precision usual_precision(const std::string& device);

}  // namespace lockstep::device
