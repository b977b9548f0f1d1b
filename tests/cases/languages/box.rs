use std::{io, fmt as format};
pub use crate::shelf::Shelf;
pub struct Box<T> { count: u32 }
enum Kind { Small }
trait Sized: Base { fn size(&self) -> u32; }
impl<T> Sized for Box<T> {
    /// Counts.
    fn size(&self) -> u32 { helper("size") }
}
const LIMIT: u32 = 3;
mod inner { pub fn open() {} }
macro_rules! pack { () => {} }
