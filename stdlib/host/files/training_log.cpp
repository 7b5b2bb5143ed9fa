// log_scalars: figures of a training run, a line a step, to a csv file or to the event file that TensorBoard reads.
// Source of the event format: TensorFlow's event.proto and summary.proto (protobuf wire format) in TFRecord frames,
// whose checksums are masked CRC-32C.
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>

#include "runtime/channel/processes.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

struct Figure {
  double x = 0;
  bool whole = false;  // an integer
};
using Scalars = std::vector<std::pair<std::string, Figure>>;

// Numbers of a record, by name; a record within it is a folder: "train/loss".
void collect(Interpreter& in, const Value& v, const std::string& name, grammar::Span span, Scalars& out) {
  if (const lang::Record* r = v.fields()) {
    for (const auto& [field, x] : r->fields) collect(in, x, name.empty() ? field : name + "/" + field, span, out);
    return;
  }
  if (v.is_tensor() && runtime::numel(v.tensor().type().shape) == 1 && v.tensor().type().dtype != DType::Key) {
    const ArrayRef host = on_host(in, v.tensor(), "log_scalars");
    const DType dtype = host->type.dtype;
    out.emplace_back(name,
                     Figure{runtime::element_double(*host, 0), dtype == DType::Bool || runtime::is_integer(dtype)});
  } else if (v.is_host_number() && !name.empty()) {
    out.emplace_back(name, Figure{in.number(v, span, "a figure"), v.is<std::int64_t>()});
  } else {
    in.fail("type", span,
            "log_scalars takes a record of numbers: {loss: 0.5}" +
                (name.empty() ? ", this is " + lang::kind_name(v) : "; `" + name + "` is " + lang::kind_name(v)));
  }
}

// ---- csv
std::optional<std::int64_t> step_of(std::string_view line) {
  std::int64_t step = 0;
  const auto end = std::from_chars(line.data(), line.data() + line.size(), step);
  return end.ec == std::errc() ? std::optional(step) : std::nullopt;
}

// Whether rows of this step and later ones are there, or half a line: those of a process that died behind the
// checkpoint that this one began from.
bool holds_later(const std::string& path, std::int64_t step) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  if (size <= 0) return false;
  std::string tail(static_cast<std::size_t>(std::min<std::streamoff>(size, 1 << 16)), '\0');
  file.seekg(size - static_cast<std::streamoff>(tail.size()));
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  if (tail.back() != '\n') return true;
  tail.pop_back();
  const auto last = step_of(std::string_view(tail).substr(tail.rfind('\n') + 1));
  return last && *last >= step;
}

// The file without them: an earlier step is logged again, so what stood behind it is written anew.
void drop_later(Interpreter& in, const std::string& path, std::int64_t step, grammar::Span span) {
  writing_to(in, path, span, [&] {
    std::ifstream file(path, std::ios::binary);
    const std::unique_ptr<Sink> kept = open_sink(path, false);
    for (std::string line; std::getline(file, line) && !file.eof();)
      if (const auto at = step_of(line); !at || *at < step) kept->write(line + "\n");
    kept->finish();
  });
}

void to_csv(Interpreter& in, const std::string& path, std::int64_t step, const Scalars& scalars, grammar::Span span) {
  std::string names = "step", line = std::to_string(step);
  for (const auto& [name, figure] : scalars) {
    names += "," + name;
    line += "," + (figure.whole ? std::to_string(static_cast<std::int64_t>(figure.x)) : float_text(figure.x, true));
  }
  std::string first;
  std::ifstream there(path);
  const bool begun = std::getline(there, first) && !there.eof();  // its first line is whole
  if (begun && first != names)
    in.fail("io", span, "'" + path + "' has the columns " + first + ", these figures are " + names);
  if (holds_later(path, step)) drop_later(in, path, step, span);
  append_bytes(in, path, (begun ? "" : names + "\n") + line + "\n", span);
}

// ---- TensorBoard
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t c = runtime::crc32c(0, bytes);
  return ((c >> 15) | (c << 17)) + 0xa282ead8u;
}

std::string varint(std::uint64_t x) {
  std::string s;
  for (; x > 127; x >>= 7) s += static_cast<char>((x & 127) | 128);
  return s + static_cast<char>(x);
}

// A field of a protobuf message: 0 varint, 1 eight bytes, 2 bytes with their length, 5 four bytes.
std::string field(int number, int wire, const std::string& payload) {
  return varint(static_cast<std::uint64_t>((number << 3) | wire)) + (wire == 2 ? varint(payload.size()) : "") + payload;
}

std::string record(const std::string& event) {
  const std::string length = little(event.size(), 8);
  return length + little(masked_crc(length), 4) + event + little(masked_crc(event), 4);
}

void to_events(Interpreter& in, const std::string& folder, std::int64_t step, const Scalars& scalars,
               grammar::Span span) {
  check_may_write(in, folder, span);
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    in.fail("io", span, "cannot write '" + folder + "': " + std::strerror(errno));
  const std::string path = folder + "/events.out.tfevents.0.shard";
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string time = field(1, 1, little(std::bit_cast<std::uint64_t>(now), 8));
  std::string out, summary;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || info.st_size == 0) out = record(time + field(3, 2, "brain.Event:2"));
  for (const auto& [name, figure] : scalars)
    summary += field(
        1, 2, field(1, 2, name) + field(2, 5, little(std::bit_cast<std::uint32_t>(static_cast<float>(figure.x)), 4)));
  out += record(time + field(2, 0, varint(static_cast<std::uint64_t>(step))) + field(5, 2, summary));
  append_bytes(in, path, out, span);
}

Value log_scalars(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a log");
  const std::int64_t step = in.integer(a[1], a.args[1].span, "a step");
  if (writes_nothing(in, path)) return {};
  Scalars scalars;
  collect(in, a[2], "", a.args[2].span, scalars);
  const auto& processes = in.context().processes();
  const bool writes = !processes || processes->index() == 0;
  if (writes && ends_with_lower(path, ".csv"))
    to_csv(in, path, step, scalars, a.span);
  else if (writes)
    to_events(in, path, step, scalars, a.span);
  if (processes) processes->meet({"log_scalars"});  // whoever goes on finds it written
  return {};
}

}  // namespace

void register_training_log(Interpreter& in) {
  in.define({"log_scalars", "log_scalars(path, step, figures)",
             "Adds a record of numbers to a log: a row where the path ends in .csv, else an event that TensorBoard "
             "shows for the folder. Rows of this step and later ones, of a run that was resumed before them, go.",
             log_scalars});
}

}  // namespace shard::stdlib
