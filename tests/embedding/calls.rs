// The C interface from Rust, by declaration only: rustc calls.rs -L FOLDER -l shard.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Engine(c_void);
#[repr(C)]
struct Value(c_void);
#[repr(C)]
struct Error(c_void);

extern "C" {
    fn shard_api_version() -> c_int;
    fn shard_engine_create(options: *const c_char, out: *mut *mut Engine) -> *mut Error;
    fn shard_engine_free(engine: *mut Engine);
    fn shard_run(engine: *mut Engine, text: *const c_char, name: *const c_char, out: *mut *mut Value) -> *mut Error;
    fn shard_define(
        engine: *mut Engine, name: *const c_char, signature: *const c_char,
        function: extern "C" fn(*mut c_void, *const *const Value, usize, *mut *mut Value) -> *mut Error,
        user: *mut c_void, release: Option<extern "C" fn(*mut c_void)>, replace: c_int,
    ) -> *mut Error;
    fn shard_adopt(
        kind: i32, rank: usize, shape: *const i64, elements: *mut c_void, release: extern "C" fn(*mut c_void), out: *mut *mut Value,
    ) -> *mut Error;
    fn shard_set(engine: *mut Engine, name: *const c_char, value: *const Value) -> *mut Error;
    fn shard_integer(x: i64, out: *mut *mut Value) -> *mut Error;
    fn shard_as_integer(value: *const Value, out: *mut i64) -> *mut Error;
    fn shard_as_number(value: *const Value, out: *mut f64) -> *mut Error;
    fn shard_value_free(value: *mut Value);
    fn shard_error_code(error: *const Error) -> *const c_char;
    fn shard_error_message(error: *const Error) -> *const c_char;
    fn shard_error_free(error: *mut Error);
}

fn ok(error: *mut Error) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let text = |s| CStr::from_ptr(s).to_string_lossy().into_owned();
        let said = format!("{}: {}", text(shard_error_code(error)), text(shard_error_message(error)));
        shard_error_free(error);
        Err(said)
    }
}

extern "C" fn next(user: *mut c_void, arguments: *const *const Value, count: usize, out: *mut *mut Value) -> *mut Error {
    unsafe {
        assert_eq!(count, 1);
        *(user as *mut i64) += 1;
        let mut x = 0;
        let error = shard_as_integer(*arguments, &mut x);
        if error.is_null() { shard_integer(x + 1, out) } else { error }
    }
}

extern "C" fn give_back(elements: *mut c_void) {
    drop(unsafe { Box::from_raw(elements as *mut [f32; 4]) });
}

fn main() -> Result<(), String> {
    let text = |s: &str| CString::new(s).unwrap();
    let (mut engine, mut value, mut calls) = (null_mut(), null_mut(), 0i64);
    unsafe {
        assert!(shard_api_version() >= 1);
        ok(shard_engine_create(text("{\"devices\": 2}").as_ptr(), &mut engine))?;
        let user = &mut calls as *mut i64 as *mut c_void;
        ok(shard_define(engine, text("next").as_ptr(), text("(x)").as_ptr(), next, user, None, 0))?;
        ok(shard_run(engine, text("next(next(9007199254740992))").as_ptr(), null(), &mut value))?;
        let mut integer = 0;
        ok(shard_as_integer(value, &mut integer))?;
        shard_value_free(value);
        assert_eq!((integer, calls), (9007199254740994, 2));
        let elements = Box::into_raw(Box::new([1f32, 2.0, 3.0, 4.0]));
        ok(shard_adopt(11, 1, &4i64, elements as *mut c_void, give_back, &mut value))?;
        ok(shard_set(engine, text("x").as_ptr(), value))?;
        shard_value_free(value);
        ok(shard_run(engine, text("sum(x)").as_ptr(), null(), &mut value))?;
        let mut number = 0.0;
        ok(shard_as_number(value, &mut number))?;
        shard_value_free(value);
        assert_eq!(number, 10.0);
        let said = ok(shard_run(engine, text("ones([2]) + ones([3])").as_ptr(), null(), &mut value)).unwrap_err();
        assert!(said.starts_with("shape: "), "{}", said);
        shard_engine_free(engine);
    }
    println!("Rust ok");
    Ok(())
}
