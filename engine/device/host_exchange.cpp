#include "engine/device/host_exchange.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <stdexcept>

namespace lockstep::device {
namespace {

void sum(std::int64_t n, std::int64_t begin, const std::vector<const float*>& inputs, float* to) {
  Eigen::Map<Eigen::ArrayXf> total(to, n);
  total = Eigen::Map<const Eigen::ArrayXf>(inputs[0] + begin, n);
  for (std::size_t j = 1; j < inputs.size(); ++j) total += Eigen::Map<const Eigen::ArrayXf>(inputs[j] + begin, n);
}

std::size_t index(int device) {
  return static_cast<std::size_t>(device);
}

}  // namespace

void HostExchange::run(Collective collective, std::int64_t n, const std::vector<const float*>& send,
                       const std::vector<float*>& receive) {
  if (n % (std::int64_t{devices_} * processes_.count()) != 0 || send.size() != index(devices_) ||
      receive.size() != index(devices_))
    throw std::invalid_argument("exchange: a buffer per device, of a multiple of all devices' number");
  executor_.wait();
  if (processes_.count() == 1)
    within(collective, n, send, receive);
  else
    over_processes(collective, n, send, receive);
}

void HostExchange::for_devices(const std::function<void(int device)>& task) {
  for (int d = 0; d < devices_; ++d) executor_.submit([&task, d] { task(d); });
  executor_.wait();
}

// Each device's thread computes its own part. An all-reduce is a reduce-scatter and an all-gather.
void HostExchange::within(Collective collective, std::int64_t n, const std::vector<const float*>& send,
                          const std::vector<float*>& receive) {
  const std::int64_t part = n / devices_;
  for_devices([&](int d) {
    const std::int64_t own = d * part;
    float* to = receive[index(d)];
    switch (collective) {
      case Collective::all_reduce:
        return sum(part, own, send, to + own);
      case Collective::reduce:
        return sum(part, own, send, receive[0] + own);
      case Collective::reduce_scatter:
        return sum(part, own, send, to);
      case Collective::broadcast:
        std::copy_n(send[0], n, to);
        return;
      case Collective::all_gather:
        for (int from = 0; from < devices_; ++from) std::copy_n(send[index(from)], part, to + from * part);
        return;
      case Collective::all_to_all:
        for (int from = 0; from < devices_; ++from) std::copy_n(send[index(from)] + own, part, to + from * part);
        return;
    }
  });
  if (collective != Collective::all_reduce) return;
  for_devices([&](int d) {
    for (int from = 0; from < devices_; ++from)
      if (from != d) std::copy_n(receive[index(from)] + from * part, part, receive[index(d)] + from * part);
  });
}

// ---- between processes ----

// The sum of the devices' vectors; if there is only one device, its vector itself.
const float* HostExchange::sum_here(std::int64_t n, const std::vector<const float*>& send) {
  if (devices_ == 1) return send[0];
  sent_.resize(static_cast<std::size_t>(n));
  const std::int64_t part = n / devices_;
  for_devices([&](int d) { sum(part, d * part, send, sent_.data() + d * part); });
  return sent_.data();
}

const float* HostExchange::side_by_side(std::int64_t part, const std::vector<const float*>& send) {
  if (devices_ == 1) return send[0];
  sent_.resize(static_cast<std::size_t>(part * devices_));
  for_devices([&](int d) { std::copy_n(send[index(d)], part, sent_.data() + d * part); });
  return sent_.data();
}

void HostExchange::copy_to_others(std::int64_t n, const std::vector<float*>& receive) {
  if (devices_ == 1) return;
  for_devices([&](int d) {
    if (d > 0) std::copy_n(receive[0], n, receive[index(d)]);
  });
}

void HostExchange::over_processes(Collective collective, std::int64_t n, const std::vector<const float*>& send,
                                  const std::vector<float*>& receive) {
  const std::int64_t of_process = n / processes_.count(), part = of_process / devices_;
  switch (collective) {
    case Collective::all_reduce:
      std::copy_n(sum_here(n, send), n, receive[0]);
      processes_.sum(n, receive[0]);
      return copy_to_others(n, receive);
    case Collective::reduce:
      return processes_.reduce(n, sum_here(n, send), receive[0]);
    case Collective::broadcast:
      if (processes_.rank() == 0) std::copy_n(send[0], n, receive[0]);
      processes_.broadcast(static_cast<std::size_t>(n) * sizeof(float), receive[0]);
      return copy_to_others(n, receive);
    case Collective::reduce_scatter:
      if (devices_ == 1) return processes_.reduce_scatter(part, send[0], receive[0]);
      received_.resize(static_cast<std::size_t>(of_process));
      processes_.reduce_scatter(of_process, sum_here(n, send), received_.data());
      return for_devices([&](int d) { std::copy_n(received_.data() + d * part, part, receive[index(d)]); });
    case Collective::all_gather:
      processes_.all_gather(of_process, side_by_side(part, send), receive[0]);
      return copy_to_others(n, receive);
    case Collective::all_to_all:
      return all_to_all(part, send, receive);
  }
}

void HostExchange::all_to_all(std::int64_t part, const std::vector<const float*>& send,
                              const std::vector<float*>& receive) {
  if (devices_ == 1) return processes_.all_to_all(part, send[0], receive[0]);
  const std::int64_t of_device = part * devices_;        // from one device to all of another process
  const std::int64_t of_process = of_device * devices_;  // from all of a process to all of another
  const int processes = processes_.count();
  sent_.resize(static_cast<std::size_t>(of_process * processes));
  received_.resize(sent_.size());
  for_devices([&](int from) {
    for (int p = 0; p < processes; ++p)
      std::copy_n(send[index(from)] + p * of_device, of_device, sent_.data() + p * of_process + from * of_device);
  });
  processes_.all_to_all(of_process, sent_.data(), received_.data());
  for_devices([&](int to) {
    for (int p = 0; p < processes; ++p)
      for (int from = 0; from < devices_; ++from)
        std::copy_n(received_.data() + p * of_process + from * of_device + to * part, part,
                    receive[index(to)] + (std::int64_t{p} * devices_ + from) * part);
  });
}

}  // namespace lockstep::device
