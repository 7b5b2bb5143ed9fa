// loader: batches of rows, in an order that is a function of a key and the epoch, laid out as they are made.
#pragma once
#include <deque>
#include <future>
#include <optional>

#include "interpreter/lang/values/native.h"
#include "stdlib/host/data/loader_rows.h"

namespace shard::stdlib {

// What a loader was asked for. Copies share the rows.
struct LoaderPlan {
  Value tree;  // a row's structure: leaves stand for the arrays
  Value spec;
  std::shared_ptr<RowTable> rows = std::make_shared<RowTable>();  // or:
  Value example;                                                  // a function of the row's number
  std::vector<RowTable::RowType> types;
  std::int64_t count = 0, batch = 1, epochs = 1, skip = 0, ahead = 0;
  bool pad = false, keyed = false;
  std::optional<Tensor> shuffle;  // a key
  bool types_only = false;        // a program is checked: arrays without data, one batch of each
  grammar::Span span;

  std::int64_t steps() const { return pad ? (count + batch - 1) / batch : count / batch; }
};

class Batches : public lang::Loader {
 public:
  explicit Batches(LoaderPlan plan) : plan_(std::move(plan)), at_(plan_.skip) {}

  std::optional<std::int64_t> position() const override { return at_; }
  std::shared_ptr<lang::Loader> resumed(std::int64_t turns) const override {
    LoaderPlan plan = plan_;
    plan.skip += turns;
    return std::make_shared<Batches>(std::move(plan));
  }
  std::optional<std::int64_t> length() const override;
  void restart() override;
  std::string describe() const override;
  std::optional<Value> next(Interpreter& in) override;

 private:
  using Bytes = std::vector<std::string>;  // of each leaf
  struct Rows {
    Bytes bytes;
    WantedRows wanted;  // what of them was read
  };
  std::int64_t real_rows(std::int64_t at) const;
  std::vector<std::int64_t> which(Interpreter& in, std::int64_t at);
  ArrayRef epoch_key(Interpreter& in, std::int64_t epoch) const;
  Rows rows_of(Interpreter& in, std::int64_t at, const WantedRows& wanted);
  WantedRows needed_by(const Value& batch) const;
  Bytes examples(Interpreter& in, const std::vector<std::int64_t>& rows) const;
  Value blank(Interpreter& in);
  Value made(Interpreter& in, const Bytes& bytes, std::int64_t real) const;
  Value finished(Interpreter& in, std::vector<Value> arrays, std::int64_t real) const;
  Value first_entry() const;

  LoaderPlan plan_;
  std::int64_t at_ = 0;
  std::deque<std::future<Rows>> queue_;  // batches at_, at_ + 1, ...
  WantedRows needed_;  // by the batch before: of several processes each reads the rows of its own devices
  std::deque<std::pair<std::int64_t, ArrayRef>> orders_;      // epoch, i32 [count]
  std::optional<std::pair<std::int64_t, KeyedOrder>> order_;  // of an epoch
};

}  // namespace shard::stdlib
