/* Every function of shard_c.h, from C11. Prints "every ok". */
#include <shard_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) \
  do { \
    if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } \
  } while (0)

static void ok(shard_error* e, int line) {
  if (!e) return;
  printf("line %d: %s", line, shard_error_rendered(e));
  exit(1);
}
#define OK(call) ok(call, __LINE__)

static void fails(shard_error* e, const char* code, const char* words, int line) {
  if (e && !strcmp(shard_error_code(e), code) && strstr(shard_error_message(e), words)) {
    CHECK(strstr(shard_error_rendered(e), words) != NULL);
    shard_error_free(e);
    return;
  }
  printf("line %d: %s: %s\n", line, shard_error_code(e), shard_error_message(e));
  exit(1);
}
#define FAILS(call, code, words) fails(call, code, words, __LINE__)

static char printed[256];
static void print(void* user, const char* text, size_t length) {
  CHECK(user == printed);
  strncat(printed, text, length);
}

static int released = 0;
static void release(void* p) {
  (void)p;
  ++released;
}
static shard_error* add(void* user, const shard_value* const* arguments, size_t count, shard_value** out) {
  double a, b;
  shard_error* e;
  CHECK(*(int*)user == 42 && count == 2);
  if ((e = shard_as_number(arguments[0], &a)) || (e = shard_as_number(arguments[1], &b))) {
    shard_error_free(e);
    return shard_error_create("no numbers");
  }
  if (a < 0) return shard_error_create("too small");
  return shard_number(a + b, out);
}

static shard_value* run(shard_engine* engine, const char* text) {
  shard_value* v = NULL;
  OK(shard_run(engine, text, NULL, &v));
  return v;
}

static void values(shard_engine* engine) {
  shard_value *items[3], *list, *tuple, *record, *v;
  const char *names[2] = {"a", "b"}, *text;
  size_t length;
  double x;
  int64_t n;
  OK(shard_none(&items[0]));
  OK(shard_boolean(1, &items[1]));
  OK(shard_text("h\xc3\xa9\0!", 5, &items[2]));
  OK(shard_list((const shard_value* const*)items, 3, &list));
  OK(shard_tuple((const shard_value* const*)items, 2, &tuple));
  OK(shard_record(names, (const shard_value* const*)items, 2, &record));
  CHECK(shard_kind(items[0]) == SHARD_NONE && shard_kind(items[1]) == SHARD_BOOLEAN && shard_kind(items[2]) == SHARD_TEXT);
  CHECK(shard_kind(list) == SHARD_LIST && shard_kind(tuple) == SHARD_TUPLE && shard_kind(record) == SHARD_RECORD);
  CHECK(shard_length(list) == 3 && shard_length(tuple) == 2 && shard_length(record) == 2 && shard_length(items[1]) == 0);
  OK(shard_as_text(items[2], &text, &length));
  CHECK(length == 5 && !memcmp(text, "h\xc3\xa9\0!", 5));
  OK(shard_item(list, 1, &v));
  OK(shard_as_number(v, &x));
  CHECK(x == 1);
  shard_value_free(v);
  FAILS(shard_item(list, 3, &v), "argument", "no item 3 of 3");
  OK(shard_field_name(record, 1, &text));
  CHECK(!strcmp(text, "b"));
  FAILS(shard_field_name(record, 2, &text), "argument", "no field 2");
  OK(shard_field(record, "a", &v));
  CHECK(shard_kind(v) == SHARD_NONE);
  shard_value_free(v);
  FAILS(shard_field(record, "c", &v), "argument", "no field `c`");
  FAILS(shard_as_number(list, &x), "argument", "no number");
  FAILS(shard_as_integer(list, &n), "argument", "no integer");
  FAILS(shard_as_text(list, &text, &length), "argument", "no text");
  OK(shard_show(tuple, &text));
  CHECK(!strcmp(text, "(none, true)"));
  OK(shard_set(engine, "record", record));
  v = run(engine, "record.b");
  CHECK(shard_kind(v) == SHARD_BOOLEAN);
  shard_value_free(v);
  OK(shard_value_copy(list, &v));
  shard_value_free(list);
  CHECK(shard_length(v) == 3);
  shard_value_free(v);
  shard_value_free(tuple);
  shard_value_free(record);
  for (int i = 0; i < 3; ++i) shard_value_free(items[i]);
}

static void arrays(shard_engine* engine) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3}, *found;
  size_t rank, bytes;
  int32_t type;
  const char* layout;
  const void* elements;
  shard_value *x, *y;
  OK(shard_array(SHARD_F32, 2, shape, data, sizeof data, &x));
  FAILS(shard_array(SHARD_F32, 2, shape, data, 4, &y), "argument", "24 bytes, 4 were given");
  FAILS(shard_array(99, 2, shape, data, 4, &y), "argument", "no type of elements 99");
  OK(shard_array_type(x, &type));
  OK(shard_array_shape(x, &found, &rank));
  OK(shard_array_layout(x, &layout));
  CHECK(type == SHARD_F32 && rank == 2 && found[0] == 2 && found[1] == 3 && !strcmp(layout, "P()"));
  OK(shard_set(engine, "x", x));
  y = run(engine, "mesh m = (@d: 2)\nshard x as P(@d)");
  OK(shard_array_layout(y, &layout));
  CHECK(!strcmp(layout, "P(@d)"));
  OK(shard_elements(y, SHARD_F32, &elements, &bytes));
  CHECK(bytes == sizeof data && !memcmp(elements, data, bytes));
  FAILS(shard_elements(y, SHARD_F64, &elements, &bytes), "argument", "f32 are asked for as f64");
  shard_value_free(y);
  shard_value_free(x);
  OK(shard_adopt(SHARD_F32, 2, shape, data, release, &x));
  OK(shard_elements(x, SHARD_F32, &elements, &bytes));
  CHECK(elements == (const void*)data && released == 0);
  shard_value_free(x);
  CHECK(released == 1);
  released = 0;
}

int main(void) {
  int user = 42;
  double x;
  int64_t n;
  shard_engine* engine = NULL;
  shard_value *v = NULL, *f, *arguments[2];
  shard_error* e;
  CHECK(shard_api_version() == SHARD_API_VERSION);
  OK(shard_engine_create("{\"processes\": true, \"devices\": 2}", &engine)); /* nobody launched this: alone */
  shard_engine_free(engine);
  engine = NULL;
  FAILS(shard_engine_create("{\"devises\": 8}", &engine), "options", "did you mean `devices`");
  FAILS(shard_engine_create("{\"devices\": 8.5}", &engine), "options", "whole number");
  FAILS(shard_engine_create("{\"devices\": 8", &engine), "options", "`}`");
  FAILS(shard_engine_create("devices=8", &engine), "options", "an object");
  FAILS(shard_engine_create("{\"devices\": 0}", &engine), "options", "1 to 16,777,216");
  CHECK(engine == NULL);
  OK(shard_engine_create(
      " { \"devices\": 4, \"memory\": 1e8, \"steps\": 100000, \"seconds\": 20, \"recursion\": 100, \"exact\": true, \"debug_nans\": false, \"read\": true, \"write\": false } ",
      &engine));
  FAILS(shard_run(engine, NULL, NULL, &v), "argument", "NULL");
  FAILS(shard_run(NULL, "1", NULL, &v), "argument", "NULL");
  FAILS(shard_run(engine, "1", NULL, NULL), "argument", "NULL");
  CHECK(v == NULL);
  OK(shard_output(engine, print, printed));
  shard_value_free(run(engine, "print(\"to\", \"C\")"));
  CHECK(!strcmp(printed, "to C\n"));
  OK(shard_output(engine, NULL, NULL));
  FAILS(shard_run(engine, "while true { }", "endless", &v), "steps", "100000 steps");
  FAILS(shard_run(engine, "ones([100000, 1000])", "large", &v), "memory", "100000000");
  FAILS(shard_run(engine, "fn f(n) = f(n + 1)\nf(0)", "deep", &v), "recursion", "100");
  FAILS(shard_run_file(engine, "/nowhere.shard", &v), "io", "/nowhere.shard");
  e = shard_run(engine, "print(one)\nprint(two)", "names", &v);
  CHECK(strstr(shard_error_json(e), "\"code\": \"name\"") && strstr(shard_error_json(e), "unknown name `two`"));
  CHECK(strstr(shard_error_rendered(e), "unknown name `two`"));
  shard_error_free(e);

  OK(shard_module(engine, "mine", "let size = 7", 0));
  FAILS(shard_module(engine, "nn", "let size = 7", 0), "name", "nn");
  OK(shard_module(engine, "nn", "let size = 7", 1));
  v = run(engine, "import mine\nimport nn\nmine.size + nn.size");
  OK(shard_as_integer(v, &n));
  CHECK(n == 14);
  shard_value_free(v);

  OK(shard_define(engine, "plus", "(a, b = 1)", add, &user, release, 0));
  FAILS(shard_define(engine, "sum", "(a)", add, &user, release, 0), "name", "sum");
  FAILS(shard_define(engine, "bad", "(a", add, &user, release, 0), "signature", "`(a`");
  CHECK(released == 2); /* of those that failed */
  v = run(engine, "plus(1.5)");
  OK(shard_as_number(v, &x));
  CHECK(x == 2.5);
  shard_value_free(v);
  FAILS(shard_run(engine, "let a = 1\nplus(-1)", "negative", &v), "host", "plus: too small");
  FAILS(shard_run(engine, "plus([])", "lists", &v), "host", "no numbers");

  f = run(engine, "fn(x, y) = x * y");
  CHECK(shard_kind(f) == SHARD_FUNCTION);
  OK(shard_integer(6, &arguments[0]));
  OK(shard_number(7, &arguments[1]));
  OK(shard_call_value(engine, f, (const shard_value* const*)arguments, 2, &v));
  OK(shard_as_number(v, &x));
  CHECK(x == 42);
  shard_value_free(v);
  OK(shard_call(engine, "plus", (const shard_value* const*)arguments, 2, &v));
  OK(shard_as_number(v, &x));
  CHECK(x == 13);
  shard_value_free(v);
  OK(shard_set(engine, "six", arguments[0]));
  OK(shard_get(engine, "six", &v));
  CHECK(shard_kind(v) == SHARD_INTEGER);
  shard_value_free(v);
  FAILS(shard_get(engine, "seven", &v), "name", "seven");
  shard_value_free(arguments[0]);
  shard_value_free(arguments[1]);
  shard_value_free(f);

  shard_interrupt(engine, 1);
  FAILS(shard_run(engine, "1", "asked", &v), "interrupt", "interrupted");
  shard_interrupt(engine, 1);
  shard_interrupt(engine, 0);
  shard_interrupt(NULL, 1);
  shard_value_free(run(engine, "1"));

  values(engine);
  released = 0;
  arrays(engine);
  shard_engine_free(engine);
  CHECK(released == 1); /* of `plus` */
  shard_engine_free(NULL);
  shard_value_free(NULL);
  shard_error_free(NULL);
  puts("every ok");
  return 0;
}
