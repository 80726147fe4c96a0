//! The loops that are compiled beforehand, one for each operation and type of elements, and the
//! lists of them.

pub(crate) mod count;
pub(crate) mod folds;
pub(crate) mod gathers;
pub(crate) mod lanes;
pub(crate) mod map;
pub(crate) mod paced;
pub(crate) mod packed;
pub(crate) mod packed_rows;
pub(crate) mod row_fold;
pub(crate) mod rows;
mod rows_together;
pub(crate) mod sparse_rows;
pub(crate) mod streams;
pub(crate) mod table;
pub(crate) mod tiled;
mod whole;
pub(crate) mod wide;
mod windows;
mod written_out;
