//! Moving the rows of a block between an array of any layout and a contiguous buffer.
//!
//! The index space is walked in runs along the last dimension: the position of the first row is
//! found by division, once a block, every other by counting.
#![expect(unsafe_code, reason = "copies elements through pointers of the launch")]

use crate::launch::Layout;

/// The bytes of a run that is copied element by element: it takes no longer than a call.
const SHORT: usize = 64;

/// Copies the rows `first..first + n` of an array to `out`.
///
/// # Safety
/// `data` and `layout` must describe an array of elements of `size` bytes (1, 4, 8 or 16) that can
/// be read and has these rows; `out` must be writable as `n` elements and not overlap them unless
/// both are the same run of elements.
pub(crate) unsafe fn gather(
    size: usize,
    data: *const u8,
    layout: &Layout,
    first: usize,
    n: usize,
    out: *mut u8,
) {
    let mut out = out;
    walk(layout, first, n, |offset, count, stride| {
        // SAFETY: `walk` gives offsets and counts of rows that the array has, `n` in all.
        unsafe {
            let from = data.offset(offset * size as isize);
            copy_run(size, count, (from, stride), (out, 1));
            out = out.add(count * size);
        }
    });
}

/// Copies `n` elements from `values` to the rows `first..first + n` of an array.
///
/// # Safety
/// As [`gather`], with reading and writing exchanged.
pub(crate) unsafe fn scatter(
    size: usize,
    values: *const u8,
    data: *mut u8,
    layout: &Layout,
    first: usize,
    n: usize,
) {
    let mut values = values;
    walk(layout, first, n, |offset, count, stride| {
        // SAFETY: as in `gather`.
        unsafe {
            let to = data.offset(offset * size as isize);
            copy_run(size, count, (values, 1), (to, stride));
            values = values.add(count * size);
        }
    });
}

/// Copies `count` elements between two sequences, each given by its first element and the
/// distance between neighbours in elements.
///
/// # Safety
/// The elements must be readable and writable as [`gather`] says.
pub(crate) unsafe fn copy_run(
    size: usize,
    count: usize,
    from: (*const u8, isize),
    to: (*mut u8, isize),
) {
    if from.1 == 1 && to.1 == 1 && count * size > SHORT {
        // SAFETY: the caller promises `count` elements on both sides; `copy` allows overlap.
        return unsafe { std::ptr::copy(from.0, to.0, count * size) };
    }
    // SAFETY: the caller's promise, for elements of this size.
    unsafe {
        match size {
            1 => copy_elements::<u8>(count, from, to),
            4 => copy_elements::<u32>(count, from, to),
            8 => copy_elements::<u64>(count, from, to),
            _ => copy_elements::<[u64; 2]>(count, from, to),
        }
    }
}

unsafe fn copy_elements<T: Copy>(count: usize, from: (*const u8, isize), to: (*mut u8, isize)) {
    let size = size_of::<T>() as isize;
    for i in 0..count as isize {
        // SAFETY: element `i < count` of both sequences, which the caller promises.
        unsafe {
            let value = from
                .0
                .offset(i * from.1 * size)
                .cast::<T>()
                .read_unaligned();
            to.0.offset(i * to.1 * size)
                .cast::<T>()
                .write_unaligned(value);
        }
    }
}

/// Calls `visit(offset, count, stride)` for the runs of neighbours along the last dimension that
/// make up the rows `first..first + n`; offset and stride in elements.
pub(crate) fn walk(
    layout: &Layout,
    first: usize,
    n: usize,
    mut visit: impl FnMut(isize, usize, isize),
) {
    let Some(last) = (layout.rank as usize).checked_sub(1) else {
        return (0..n).for_each(|_| visit(0, 1, 0));
    };
    let (dims, strides) = (&layout.dims, &layout.strides);
    let mut index = [0; 4];
    let mut flat = first;
    for d in (0..=last).rev() {
        index[d] = flat % dims[d].max(1);
        flat /= dims[d].max(1);
    }
    let mut rest = n;
    let mut offset: isize = (0..=last).map(|d| index[d] as isize * strides[d]).sum();
    while rest > 0 {
        let count = rest.min(dims[last] - index[last]);
        visit(offset, count, strides[last]);
        rest -= count;
        index[last] += count;
        offset += count as isize * strides[last];
        for d in (1..=last).rev() {
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
            index[d - 1] += 1;
            offset += strides[d - 1] - dims[d] as isize * strides[d];
        }
    }
}

/// The same layout with as few dimensions as possible, so that runs are long.
pub(crate) fn simplify(layout: &Layout) -> Layout {
    let mut simple = Layout {
        rank: 0,
        dims: [1; 4],
        strides: [0; 4],
    };
    for d in 0..layout.rank as usize {
        let (dim, stride) = (layout.dims[d], layout.strides[d]);
        if dim == 1 {
            continue;
        }
        if let Some(before) = (simple.rank as usize).checked_sub(1)
            && simple.strides[before] == stride * dim as isize
        {
            simple.dims[before] *= dim;
            simple.strides[before] = stride;
            continue;
        }
        simple.dims[simple.rank as usize] = dim;
        simple.strides[simple.rank as usize] = stride;
        simple.rank += 1;
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dims: &[usize], strides: &[isize]) {
        let mut layout = Layout {
            rank: dims.len() as u8,
            dims: [1; 4],
            strides: [0; 4],
        };
        layout.dims[..dims.len()].copy_from_slice(dims);
        layout.strides[..dims.len()].copy_from_slice(strides);
        let simple = simplify(&layout);
        for first in 0..layout.len() {
            for n in 0..=layout.len() - first {
                let expected: Vec<_> = (first..first + n).map(|i| layout.offset(i)).collect();
                for layout in [&layout, &simple] {
                    let mut offsets = Vec::new();
                    walk(layout, first, n, |offset, count, stride| {
                        offsets.extend((0..count as isize).map(|i| offset + i * stride));
                    });
                    assert_eq!(offsets, expected, "{dims:?} {strides:?} {first} {n}");
                }
            }
        }
    }

    #[test]
    fn walks_visit_the_rows_of_the_layout() {
        check(&[], &[]);
        check(&[1], &[7]);
        check(&[5], &[-2]);
        check(&[3, 4], &[4, 1]);
        check(&[3, 4], &[1, 3]);
        check(&[3, 1, 4], &[0, 9, 1]);
        check(&[2, 3, 2], &[6, 2, 1]);
        check(&[2, 3, 2, 2], &[-1, 0, 5, 2]);
        check(&[0], &[1]);
        check(&[2, 0], &[1, 1]);
    }

    #[test]
    fn contiguous_layouts_become_one_run() {
        let mut layout = Layout::contiguous(2);
        layout.rank = 3;
        layout.dims = [2, 3, 4, 1];
        layout.strides = [12, 4, 1, 0];
        let simple = simplify(&layout);
        assert_eq!((simple.rank, simple.dims[0], simple.strides[0]), (1, 24, 1));
    }
}
