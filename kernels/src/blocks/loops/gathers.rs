//! Elements of an array at indices: those that the first entries of the rows of a structure name.
//!
//! Moves bytes, so there is one loop for each size of an element, and none for an instruction set:
//! gather instructions are slower than as many loads.
#![expect(unsafe_code, reason = "reads the array through pointers of the launch")]

/// The rows that one call reads, as [`crate::launch::Structure`] and [`crate::launch::Operand`]
/// say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedRows {
    /// The first element to write, of rows times width, and how many.
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// The elements of a row of `x`.
    pub(crate) width: usize,
    pub(crate) pos: *const u64,
    pub(crate) crd: *const u32,
    /// Whether every row has one entry.
    pub(crate) singles: bool,
    /// The rows of `x` with indices below `own_len`.
    pub(crate) own: *const u8,
    pub(crate) own_len: usize,
    /// The others; null if there are none.
    pub(crate) ghosts: *const u8,
}

/// Writes the elements that the rows name to `out`.
///
/// # Safety
/// The pointers of `rows` must be valid as [`crate::launch::Structure`] and
/// [`crate::launch::Operand`] say for elements of `size` bytes, and `out` writable as `n` of them.
pub(crate) unsafe fn gather(size: usize, rows: &NamedRows, out: *mut u8) {
    // SAFETY: forwarded; types of a size move the same bytes, and these ask for no more alignment
    // than any element type of their size, since complex numbers are aligned as their parts.
    unsafe {
        match size {
            1 => gather_as::<u8>(rows, out.cast()),
            4 => gather_as::<u32>(rows, out.cast()),
            8 => gather_as::<[u32; 2]>(rows, out.cast()),
            16 => gather_as::<[u64; 2]>(rows, out.cast()),
            _ => unreachable!("elements have 1, 4, 8 or 16 bytes"),
        }
    }
}

unsafe fn gather_as<T: Copy>(rows: &NamedRows, out: *mut T) {
    let has_no_ghosts = rows.ghosts.is_null();
    // SAFETY: forwarded.
    unsafe {
        match (rows.width, rows.singles && has_no_ghosts) {
            (1, true) => {
                let crd = std::slice::from_raw_parts(rows.crd.add(rows.first), rows.n);
                let own = rows.own.cast::<T>();
                for (i, &index) in crd.iter().enumerate() {
                    *out.add(i) = *own.add(index as usize);
                }
            }
            _ => gather_wide(rows, out),
        }
    }
}

/// Row by row of `x`, of which the first and the last may be wanted in part.
unsafe fn gather_wide<T: Copy>(rows: &NamedRows, out: *mut T) {
    let NamedRows { width, n, .. } = *rows;
    let (mut row, mut skip) = (rows.first / width, rows.first % width);
    let mut done = 0;
    while done < n {
        let len = (width - skip).min(n - done);
        // SAFETY: forwarded; `out` has `n` elements, of which these are the next.
        unsafe {
            let to = out.add(done);
            match named::<T>(rows, row) {
                Some(from) => {
                    for i in 0..len {
                        *to.add(i) = *from.add(skip + i);
                    }
                }
                None => to.write_bytes(0, len),
            }
        }
        done += len;
        row += 1;
        skip = 0;
    }
}

/// Where the row of `x` lies that a row names; `None` if it has no entry.
#[inline(always)]
unsafe fn named<T>(rows: &NamedRows, row: usize) -> Option<*const T> {
    // SAFETY: forwarded; a structure has one position more than rows, and an entry is an index of
    // `x`.
    unsafe {
        let entry = if rows.singles {
            row
        } else {
            let (begin, end) = (*rows.pos.add(row), *rows.pos.add(row + 1));
            if begin == end {
                return None;
            }
            (begin - *rows.pos) as usize
        };
        let index = *rows.crd.add(entry) as usize;
        Some(match index.checked_sub(rows.own_len) {
            None => rows.own.cast::<T>().add(index * rows.width),
            Some(ghost) => rows.ghosts.cast::<T>().add(ghost * rows.width),
        })
    }
}
