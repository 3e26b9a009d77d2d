#pragma once
// The processes of one run: a single one, or those that mpirun has started (engine/mpi). Each has its own devices and
// learners, and all run the same algorithm on the same numbers. So they must agree here on everything that depends on a
// clock or on one process's learners. Calls are collective: every process makes them, in the same order, on one thread
// at a time.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::sync {

/// This base class stands for a single process; its functions need no communication.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual int count() const { return 1; }
  virtual int rank() const { return 0; }
  /// Return the rank of this process on its machine, and the number of processes there.
  virtual int local_rank() const { return 0; }
  virtual int local_count() const { return 1; }

  /// Replaces x, n numbers in host memory, by the sum over all processes, added in the order of ranks on any number of
  /// machines. So the bits are the same everywhere and every time. Throws std::runtime_error if communication fails.
  virtual void sum(std::int64_t /*n*/, float* /*x*/) {}
  virtual void sum(std::int64_t /*n*/, double* /*x*/) {}
  /// Copies rank 0's bytes to all processes.
  virtual void broadcast(std::size_t /*size_bytes*/, void* /*data*/) {}
  /// Sends the bytes of process `from` to process `to` != `from`, where they are returned. In all other processes, and
  /// in `from`, does nothing and returns an empty string.
  virtual std::string send(int /*from*/, int /*to*/, const std::string& /*bytes*/) { return {}; }
  /// Waits for a process whose send() to this one is pending, and returns its rank. If several wait, they are served in
  /// turn. Only the two processes of a send() take part.
  virtual int next_sender() { throw std::logic_error("a single process waits for no other"); }
  /// MPI's collectives for P processes, on host memory, out of place, in MPI's order of summation. Function reduce()
  /// gives rank 0 the sum of all processes' n numbers; other ranks' `receive` stays unchanged. Function all_gather()
  /// sends `part` numbers and receives P parts in the order of ranks. Both reduce_scatter() and all_to_all() send P
  /// parts. Process p receives the sum of all p-th parts, or the p-th part of each process.
  virtual void reduce(std::int64_t n, const float* send, float* receive);
  virtual void reduce_scatter(std::int64_t part, const float* send, float* receive);
  virtual void all_gather(std::int64_t part, const float* send, float* receive);
  virtual void all_to_all(std::int64_t part, const float* send, float* receive);
  /// The two halves of sum(), for parts of any size: process p's part is [begins[p], begins[p + 1]), and begins[P] is
  /// the number of elements. Function add_parts() sets `own` to this process's part of the sum of all x, with the bits
  /// of sum(). Function share_parts() copies each process's part of its x to all others.
  virtual void add_parts(const std::vector<std::int64_t>& begins, const float* x, float* own);
  virtual void share_parts(const std::vector<std::int64_t>& begins, float* x);
  /// Whether calls may also come from another thread, as long as calls do not overlap.
  virtual bool may_change_thread() const { return true; }
  /// Ends all processes at once, because the others would wait for this one forever. Returns if there are no others.
  virtual void abort(int /*exit_code*/) {}
};

/// The largest of all processes' numbers, the same everywhere. Returns only after all have called.
double largest(Processes& processes, double x);

}  // namespace lockstep::sync
