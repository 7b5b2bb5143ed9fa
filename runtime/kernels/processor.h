// What a kernel does in one way or another by the processor that runs it, with the same bits.
#pragma once

namespace shard::runtime {

struct Processor {
  // Stores that lie far hold up what comes after them, so that asking for their lines before pays: softmax of rows
  // takes 0.75 of the time with it on a Xeon of 2023, up to 1.5 on an EPYC of 2024 (32,768 x 1,024), which looks ahead
  // itself.
  bool stores_wait = false;
  // A quotient of vectors takes longer than three products: of 16 floats 16 cycles of a Xeon. With them a layer norm
  // takes 1.12 of the time on the EPYC.
  bool divides_slowly = true;
};
const Processor& processor();

}  // namespace shard::runtime
