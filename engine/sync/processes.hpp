#pragma once
// The processes of one run: a single one, or those that mpirun has started (engine/mpi). Each has its own devices and
// learners; all run the same algorithm on the same numbers, so that whatever depends on a clock or on one process's
// learners must be agreed upon here. Calls are collective: every process makes them, in the same order, on one
// thread at a time.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::sync {

/// This class itself: one process, nothing to agree upon.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual int count() const { return 1; }
  virtual int rank() const { return 0; }
  /// This process among those on the same machine, and how many they are.
  virtual int local_rank() const { return 0; }
  virtual int local_count() const { return 1; }

  /// x <- the sum over all processes of n numbers in host memory, added in the order of the ranks whatever the number
  /// of machines: the same bits everywhere and every time. Throws std::runtime_error where communication fails.
  virtual void sum(std::int64_t /*n*/, float* /*x*/) {}
  virtual void sum(std::int64_t /*n*/, double* /*x*/) {}
  /// Rank 0's bytes for everybody.
  virtual void broadcast(std::size_t /*size_bytes*/, void* /*data*/) {}
  /// Process `from`'s bytes, returned by process `to`, another one. For all others nothing happens, and they, as
  /// `from`, get an empty string.
  virtual std::string send(int /*from*/, int /*to*/, const std::string& /*bytes*/) { return {}; }
  /// A process whose bytes for this one, by send(), wait to be taken; returns when there is one. They take turns where
  /// several wait: only the two of a send() need know of it.
  virtual int next_sender() { throw std::logic_error("a single process waits for no other"); }
  /// MPI's collectives of its own order of summation, on host memory, out of place; P processes. Of reduce() rank 0
  /// gets the sum of all processes' n numbers, of the others `receive` stays. all_gather() has `part` numbers to send
  /// and P parts to receive, in the order of the ranks; reduce_scatter() and all_to_all() have P parts to send, of
  /// which process p gets all sums of the p-th, or the p-th of each process.
  virtual void reduce(std::int64_t n, const float* send, float* receive);
  virtual void reduce_scatter(std::int64_t part, const float* send, float* receive);
  virtual void all_gather(std::int64_t part, const float* send, float* receive);
  virtual void all_to_all(std::int64_t part, const float* send, float* receive);
  /// The two halves of sum(), of parts that need not be equal: process p's is [begins[p], begins[p + 1]) of the numbers,
  /// begins[P] how many there are. add_parts(): `own` <- this process's part of the sum of all x, with sum()'s bits.
  /// share_parts(): each process's part of its x goes to all others.
  virtual void add_parts(const std::vector<std::int64_t>& begins, const float* x, float* own);
  virtual void share_parts(const std::vector<std::int64_t>& begins, float* x);
  /// Whether another thread may make calls while this one makes none.
  virtual bool may_change_thread() const { return true; }
  /// Ends all processes at once: the others would wait for this one for ever. Returns where there are no others.
  virtual void abort(int /*exit_code*/) {}
};

/// The largest of all processes' numbers, the same everywhere; none goes on before all are here.
double largest(Processes& processes, double x);

}  // namespace lockstep::sync
