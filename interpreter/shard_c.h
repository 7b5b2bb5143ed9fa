/* Shard, embedded in C: the interface of shard.h as handles and functions, for every language that can call C.

       shard_engine* engine;
       shard_value* loss;
       shard_error* error = shard_engine_create("{\"devices\": 8}", &engine);
       if (!error) error = shard_run(engine, "sum(ones([4]))", "script", &loss);
       if (error) { fputs(shard_error_rendered(error), stderr); shard_error_free(error); }

   Whatever can fail returns an error, NULL where all went well; nothing is written through `out` where it failed. What
   comes out through `out` is the caller's, who frees it (free functions take NULL); what comes in stays the caller's.
   Texts go in as UTF-8 ending with a zero. Texts, shapes and elements that are read from a handle live as long as it.
   An engine and its values belong to one thread at a time; shard_interrupt may be called from any. */
#ifndef SHARD_C_H
#define SHARD_C_H
#include <stddef.h>
#include <stdint.h>

#ifndef SHARD_API
#if defined(__GNUC__)
#define SHARD_API __attribute__((visibility("default")))
#else
#define SHARD_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Functions are only ever added, each addition counts one: a program needs a library of at least its own version. */
#define SHARD_API_VERSION 1
SHARD_API int shard_api_version(void);

typedef struct shard_engine shard_engine;
typedef struct shard_value shard_value; /* immutable */
typedef struct shard_error shard_error;

/* Types of elements; as those of shard.h. f16 and bf16 are 16 bits, SHARD_KEY is two uint32_t,
   complex numbers are their real and imaginary part, an i4 has a byte of its own. */
enum {
  SHARD_BOOL = 0,
  SHARD_I8 = 1,
  SHARD_I16 = 2,
  SHARD_I32 = 3,
  SHARD_I64 = 4,
  SHARD_U8 = 5,
  SHARD_U16 = 6,
  SHARD_U32 = 7,
  SHARD_U64 = 8,
  SHARD_F16 = 9,
  SHARD_BF16 = 10,
  SHARD_F32 = 11,
  SHARD_F64 = 12,
  SHARD_KEY = 13,
  SHARD_C64 = 14,
  SHARD_C128 = 15,
  SHARD_F8_E4M3FN = 16,
  SHARD_F8_E5M2 = 17,
  SHARD_I4 = 18
};

/* What values are. SHARD_OTHER: ranges, axes, specs, meshes, types, ... */
enum {
  SHARD_NONE = 0,
  SHARD_BOOLEAN = 1,
  SHARD_INTEGER = 2,
  SHARD_NUMBER = 3,
  SHARD_TEXT = 4,
  SHARD_LIST = 5,
  SHARD_TUPLE = 6,
  SHARD_RECORD = 7,
  SHARD_ARRAY = 8,
  SHARD_FUNCTION = 9,
  SHARD_OTHER = 10
};

/* ---- errors */
SHARD_API const char* shard_error_code(const shard_error* error);    /* of the first diagnostic: "name", "shape", ... */
SHARD_API const char* shard_error_message(const shard_error* error); /* of the first diagnostic */
SHARD_API const char* shard_error_rendered(const shard_error* error); /* all of them as the command line shows them */
SHARD_API const char* shard_error_json(const shard_error* error);     /* all of them as `shard check --json` prints */
SHARD_API void shard_error_free(shard_error* error);
/* For functions of the host. */
SHARD_API shard_error* shard_error_create(const char* message);

/* ---- engines */
/* options: NULL, or a JSON object of: devices, memory, steps, seconds, recursion (numbers, see Options in shard.h),
   exact, debug_nans and deny_warnings (true or false), engine (a text), processes (true: one of those that a launcher
   started, see Processes there), read and write (true: scripts may read, or write, every file that the process may). */
SHARD_API shard_error* shard_engine_create(const char* options, shard_engine** out);
SHARD_API void shard_engine_free(shard_engine* engine);
typedef void (*shard_writer)(void* user, const char* text, size_t length);
SHARD_API shard_error* shard_output(shard_engine* engine, shard_writer write, void* user); /* what print writes */
SHARD_API shard_error* shard_run(shard_engine* engine, const char* text, const char* name, shard_value** out);
SHARD_API shard_error* shard_run_file(shard_engine* engine, const char* path, shard_value** out);
SHARD_API shard_error* shard_module(shard_engine* engine, const char* name, const char* text, int replace);
SHARD_API shard_error* shard_call(shard_engine* engine, const char* function, const shard_value* const* arguments,
                                  size_t count, shard_value** out);
SHARD_API shard_error* shard_call_value(shard_engine* engine, const shard_value* function,
                                        const shard_value* const* arguments, size_t count, shard_value** out);
SHARD_API shard_error* shard_get(shard_engine* engine, const char* name, shard_value** out);
SHARD_API shard_error* shard_set(shard_engine* engine, const char* name, const shard_value* value);
/* A function that scripts call. It gives its value through `out`, or an error, which the engine frees. `release` (may
   be NULL) is called with `user` when the function is needed no more. */
typedef shard_error* (*shard_function)(void* user, const shard_value* const* arguments, size_t count,
                                       shard_value** out);
SHARD_API shard_error* shard_define(shard_engine* engine, const char* name, const char* signature,
                                    shard_function function, void* user, void (*release)(void* user), int replace);
SHARD_API void shard_interrupt(shard_engine* engine, int stop); /* from any thread or signal handler; see shard.h */

/* ---- values made by the host */
SHARD_API shard_error* shard_none(shard_value** out);
SHARD_API shard_error* shard_boolean(int x, shard_value** out);
SHARD_API shard_error* shard_integer(int64_t x, shard_value** out);
SHARD_API shard_error* shard_number(double x, shard_value** out);
SHARD_API shard_error* shard_text(const char* text, size_t length, shard_value** out);
SHARD_API shard_error* shard_list(const shard_value* const* items, size_t count, shard_value** out);
SHARD_API shard_error* shard_tuple(const shard_value* const* items, size_t count, shard_value** out);
SHARD_API shard_error* shard_record(const char* const* names, const shard_value* const* items, size_t count,
                                    shard_value** out);
/* Row-major elements, copied. */
SHARD_API shard_error* shard_array(int32_t type, size_t rank, const int64_t* shape, const void* elements, size_t bytes,
                                   shard_value** out);
/* Not copied: `release` is called once, with `elements`, on any thread, when nothing uses them any more. */
SHARD_API shard_error* shard_adopt(int32_t type, size_t rank, const int64_t* shape, void* elements,
                                   void (*release)(void* elements), shard_value** out);
SHARD_API shard_error* shard_value_copy(const shard_value* value, shard_value** out); /* a second handle */
SHARD_API void shard_value_free(shard_value* value);

/* ---- values read by the host */
SHARD_API int32_t shard_kind(const shard_value* value);
SHARD_API shard_error* shard_as_number(const shard_value* value, double* out);
SHARD_API shard_error* shard_as_integer(const shard_value* value, int64_t* out);
SHARD_API shard_error* shard_as_text(const shard_value* value, const char** text, size_t* length);
SHARD_API size_t shard_length(const shard_value* value); /* of a list, tuple or record; 0 for all else */
SHARD_API shard_error* shard_item(const shard_value* value, size_t index, shard_value** out);
SHARD_API shard_error* shard_field_name(const shard_value* record, size_t index, const char** name);
SHARD_API shard_error* shard_field(const shard_value* record, const char* name, shard_value** out);
SHARD_API shard_error* shard_array_type(const shard_value* array, int32_t* type);
SHARD_API shard_error* shard_array_shape(const shard_value* array, const int64_t** shape, size_t* rank);
SHARD_API shard_error* shard_array_layout(const shard_value* array, const char** layout); /* "P(@X)" */
/* Row-major elements of exactly this type. */
SHARD_API shard_error* shard_elements(const shard_value* array, int32_t type, const void** elements, size_t* bytes);
SHARD_API shard_error* shard_show(const shard_value* value, const char** text); /* as print shows it */

#ifdef __cplusplus
}
#endif
#endif
