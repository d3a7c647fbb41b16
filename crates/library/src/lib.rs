//! The engines for programs in C. `include/lockgate.h` is the contract, the manual is liblockgate(3).
//!
//! Rule: nothing unsafe stands outside [`ffi`], and what stands there does nothing but hand over: each function of the header is
//! one function there, which checks its pointers and calls one here.

mod alert;
mod builder;
mod error;
mod ffi;
mod flow;
mod inspection;
mod named;
mod wire;
