// shard_c.h over shard.h: values, made by the host and read by it.
#include "interpreter/embed/c_inner.h"

using namespace shard::c;
using shard::Value;

static_assert(SHARD_KEY == static_cast<int>(shard::Type::key) && SHARD_F32 == static_cast<int>(shard::Type::f32));
static_assert(SHARD_OTHER == static_cast<int>(shard::Kind::other) &&
              SHARD_ARRAY == static_cast<int>(shard::Kind::array));

namespace {

shard::Type type_of(std::int32_t type) {
  if (type < SHARD_BOOL || type > SHARD_KEY)
    throw std::invalid_argument("there is no type of elements " + std::to_string(type));
  return static_cast<shard::Type>(type);
}

std::vector<std::int64_t> shape_of(std::size_t rank, const std::int64_t* shape) {
  need(shape || rank == 0, "the shape");
  return std::vector<std::int64_t>(shape, shape + rank);
}

}  // namespace

extern "C" {

// ---- values made by the host

shard_error* shard_none(shard_value** out) {
  return guarded([&] { give(out, Value()); });
}
shard_error* shard_boolean(int x, shard_value** out) {
  return guarded([&] { give(out, Value::boolean(x != 0)); });
}
shard_error* shard_integer(int64_t x, shard_value** out) {
  return guarded([&] { give(out, Value::integer(x)); });
}
shard_error* shard_number(double x, shard_value** out) {
  return guarded([&] { give(out, Value::number(x)); });
}
shard_error* shard_text(const char* text, size_t length, shard_value** out) {
  return guarded([&] {
    need(text || length == 0, "the text");
    give(out, Value::text(length ? std::string(text, length) : std::string()));
  });
}
shard_error* shard_list(const shard_value* const* items, size_t count, shard_value** out) {
  return guarded([&] { give(out, Value::list(values_of(items, count))); });
}
shard_error* shard_tuple(const shard_value* const* items, size_t count, shard_value** out) {
  return guarded([&] { give(out, Value::tuple(values_of(items, count))); });
}

shard_error* shard_record(const char* const* names, const shard_value* const* items, size_t count, shard_value** out) {
  return guarded([&] {
    need(names || count == 0, "the list of names");
    std::vector<Value> values = values_of(items, count);
    std::vector<std::pair<std::string, Value>> fields;
    for (std::size_t i = 0; i < count; ++i) {
      need(names[i], "a name");
      fields.emplace_back(names[i], std::move(values[i]));
    }
    give(out, Value::record(std::move(fields)));
  });
}

shard_error* shard_array(int32_t type, size_t rank, const int64_t* shape, const void* elements, size_t bytes,
                         shard_value** out) {
  return guarded([&] {
    need(elements || bytes == 0, "the elements");
    give(out, Value::array(type_of(type), shape_of(rank, shape),
                           std::span<const std::byte>(static_cast<const std::byte*>(elements), bytes)));
  });
}

shard_error* shard_adopt(int32_t type, size_t rank, const int64_t* shape, void* elements,
                         void (*release)(void* elements), shard_value** out) {
  return guarded([&] {
    need(out, "the place of the result");
    need(release != nullptr, "the function that takes the elements back");
    auto box = std::make_unique<shard_value>();
    box->value = Value::adopt(type_of(type), shape_of(rank, shape), elements, release);
    *out = box.release();
  });
}

shard_error* shard_value_copy(const shard_value* v, shard_value** out) {
  return guarded([&] { give(out, value_of(v)); });
}
void shard_value_free(shard_value* v) { delete v; }

// ---- values read by the host

int32_t shard_kind(const shard_value* v) {
  return v ? static_cast<std::int32_t>(v->value.kind()) : static_cast<std::int32_t>(SHARD_NONE);
}

shard_error* shard_as_number(const shard_value* v, double* out) {
  return guarded([&] {
    need(out, "the place of the result");
    const auto x = value_of(v).as_number();
    if (!x) throw std::invalid_argument("this value is no number");
    *out = *x;
  });
}

shard_error* shard_as_integer(const shard_value* v, int64_t* out) {
  return guarded([&] {
    need(out, "the place of the result");
    const auto x = value_of(v).as_integer();
    if (!x) throw std::invalid_argument("this value is no integer");
    *out = *x;
  });
}

shard_error* shard_as_text(const shard_value* v, const char** text, size_t* length) {
  return guarded([&] {
    need(text, "the place of the result");
    auto x = value_of(v).as_text();
    if (!x) throw std::invalid_argument("this value is no text");
    v->text = std::move(*x);
    *text = v->text.c_str();
    if (length) *length = v->text.size();
  });
}

size_t shard_length(const shard_value* v) {
  if (!v) return 0;
  try {
    return v->value.kind() == shard::Kind::record ? v->value.fields().size() : v->value.items().size();
  } catch (...) { return 0; }
}

shard_error* shard_item(const shard_value* v, size_t index, shard_value** out) {
  return guarded([&] {
    std::vector<Value> items;
    if (value_of(v).kind() == shard::Kind::record)
      for (auto& f : v->value.fields()) items.push_back(std::move(f.second));
    else
      items = v->value.items();
    if (index >= items.size())
      throw std::invalid_argument("there is no item " + std::to_string(index) + " of " + std::to_string(items.size()));
    give(out, std::move(items[index]));
  });
}

shard_error* shard_field_name(const shard_value* v, size_t index, const char** name) {
  return guarded([&] {
    need(name, "the place of the result");
    if (value_of(v).kind() != shard::Kind::record) throw std::invalid_argument("this value is no record");
    if (v->fields.empty()) v->fields = v->value.fields();
    if (index >= v->fields.size())
      throw std::invalid_argument("there is no field " + std::to_string(index) + " of " +
                                  std::to_string(v->fields.size()));
    *name = v->fields[index].first.c_str();
  });
}

shard_error* shard_field(const shard_value* v, const char* name, shard_value** out) {
  return guarded([&] {
    need(name, "the name");
    auto x = value_of(v).field(name);
    if (!x) throw std::invalid_argument("there is no field `" + std::string(name) + "`");
    give(out, std::move(*x));
  });
}

shard_error* shard_array_type(const shard_value* v, int32_t* type) {
  return guarded([&] {
    need(type, "the place of the result");
    *type = static_cast<std::int32_t>(value_of(v).type());
  });
}

shard_error* shard_array_shape(const shard_value* v, const int64_t** shape, size_t* rank) {
  return guarded([&] {
    need(shape && rank, "the place of the result");
    v->shape = value_of(v).shape();
    *shape = v->shape.data();
    *rank = v->shape.size();
  });
}

shard_error* shard_array_layout(const shard_value* v, const char** layout) {
  return guarded([&] {
    need(layout, "the place of the result");
    v->layout = value_of(v).layout();
    *layout = v->layout.c_str();
  });
}

shard_error* shard_elements(const shard_value* v, int32_t type, const void** elements, size_t* bytes) {
  return guarded([&] {
    need(elements && bytes, "the place of the result");
    const shard::Type asked = type_of(type), found = value_of(v).type();
    if (asked != found)
      throw std::invalid_argument("elements of type " + std::string(shard::name(found)) + " are asked for as " +
                                  std::string(shard::name(asked)));
    const auto all = v->value.bytes();
    *elements = all.data();
    *bytes = all.size();
  });
}

shard_error* shard_show(const shard_value* v, const char** text) {
  return guarded([&] {
    need(text, "the place of the result");
    v->shown = value_of(v).show();
    *text = v->shown.c_str();
  });
}

}  // extern "C"
