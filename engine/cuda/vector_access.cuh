#pragma once
// Elements on the device: conversions, 128-bit loads and stores, and the choice of a kernel by element type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>
#include <type_traits>

#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// V elements that are read and written at once; V sizeof(T) is a power of two up to 16 bytes.
template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T values[V];
};

template <int V, typename T>
__device__ inline void load(const T* from, float (&to)[V]) {
  const Vector<T, V> vector = *reinterpret_cast<const Vector<T, V>*>(from);
#pragma unroll
  for (int i = 0; i < V; ++i) to[i] = to_float(vector.values[i]);
}

template <int V, typename T>
__device__ inline void store(const float (&from)[V], T* to) {
  Vector<T, V> vector;
#pragma unroll
  for (int i = 0; i < V; ++i) vector.values[i] = from_float<T>(from[i]);
  *reinterpret_cast<Vector<T, V>*>(to) = vector;
}

template <int V, typename T>
__device__ inline void store_or_add(float (&values)[V], T* to, bool accumulate) {
  if (accumulate) {
    float before[V];
    load<V>(to, before);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] += before[i];
  }
  store<V>(values, to);
}

/// max(x, 0) that keeps NaN, unlike fmaxf.
__device__ inline float rectified(float x) {
  return x < 0 ? 0 : x;
}

template <typename T>
constexpr int kVector = 16 / static_cast<int>(sizeof(T));

/// Calls visit(T{}) with the element's type.
template <typename Visit>
void with_type(Element element, const Visit& visit) {
  switch (element) {
    case Element::f32:
      return visit(float{});
    case Element::f16:
      return visit(__half{});
    case Element::bf16:
      return visit(__nv_bfloat16{});
  }
  throw std::logic_error("Element out of range");
}

/// Calls visit(T{}, std::integral_constant<int, V>{}). V channels are read at once: 16 bytes if that divides all
/// channel counts, else one channel.
template <typename Visit>
void with_vectors(Element element, int channels, int more_channels, const Visit& visit) {
  with_type(element, [&](auto type) {
    constexpr int kWide = kVector<decltype(type)>;
    if (channels % kWide == 0 && more_channels % kWide == 0)
      visit(type, std::integral_constant<int, kWide>{});
    else
      visit(type, std::integral_constant<int, 1>{});
  });
}
template <typename Visit>
void with_vectors(Element element, int channels, const Visit& visit) {
  with_vectors(element, channels, 0, visit);
}

inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

constexpr int kThreads = 256;

inline unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace lockstep::cuda
