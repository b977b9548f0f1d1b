//! Halves.
//!
//! ```
//! assert_eq!(half::half(4), 2);
//! ```
pub mod odd;
pub fn half(n: i32) -> i32 { if n < 0 { panic!("negative {n}") } n / 2 }
