//! Archives of NumPy: several arrays in one file.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector, npz_names, save_npz};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::everywhere;
use std::fs;
use std::path::{Path, PathBuf};

fn fresh(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{test}_{}.npz", std::process::id()))
}

#[test]
fn arrays_are_read_as_they_were_written() {
    let path = fresh("arrays");
    everywhere(|| {
        let x = Vector::<f64>::linspace(-1.0, 1.0, 1100);
        let a = Array::<i32, 2>::from_fn([7, 5], |[i, j]| (10 * i + j) as i32);
        let z = Array::from_fn([2, 3, 4], |[i, j, k]| {
            Complex::new(i as f32, (j * k) as f32)
        });
        let mask = a.greater(20);
        let none = Array::<u64, 2>::zeros([0, 3]);
        save_npz(
            &path,
            &[
                ("x", &x),
                ("a transposed", &a.t()),
                ("ζ", &z),
                ("mask", &mask),
                ("none", &none),
            ],
        )?;
        assert_eq!(
            npz_names(&path)?,
            ["x", "a transposed", "ζ", "mask", "none"]
        );
        let loaded = Array::<i32, 2>::load_npz(&path, "a transposed")?;
        assert_eq!(
            (loaded.shape(), loaded.to_vec()?),
            ([5, 7], a.t().to_vec()?)
        );
        assert_eq!(
            Array::<Complex<f32>, 3>::load_npz(&path, "ζ")?.to_vec()?,
            z.to_vec()?
        );
        let loaded = Array::<bool, 2>::load_npz(&path, "mask")?;
        assert_eq!(loaded.to_vec()?, mask.to_vec()?);
        assert_eq!(Array::<u64, 2>::load_npz(&path, "none")?.shape(), [0, 3]);
        let loaded = Vector::<f64>::load_npz(&path, "x")?.to_vec()?;
        assert_eq!(loaded, x.to_vec()?);
        Ok(loaded)
    });
    fs::remove_file(path).unwrap();
}

/// `np.savez_compressed("a.npz", a=np.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype=">i4"))`.
const OF_NUMPY: &[u8] = include_bytes!("npz/a.npz");

#[test]
fn an_archive_of_numpy() {
    let path = fresh("of_numpy");
    fs::write(&path, OF_NUMPY).unwrap();
    let found = everywhere(|| Array::<i32, 2>::load_npz(&path, "a")?.to_vec());
    assert_eq!(found, [1, 2, 3, 4, 5, 6]);
    let refusal = |error: sparsefuse_dense::Error| {
        let error = error.to_string();
        error
            .strip_prefix(&*path.to_string_lossy())
            .unwrap_or(&error)
            .to_owned()
    };
    assert_eq!(
        refusal(Array::<f64, 2>::load_npz(&path, "a").unwrap_err()),
        "/a.npy: expected elements of type '<f8', found '>i4'"
    );
    assert_eq!(
        refusal(Vector::<i32>::load_npz(&path, "a").unwrap_err()),
        "/a.npy: expected 1 dimensions, found 2"
    );
    assert_eq!(
        refusal(Vector::<i32>::load_npz(&path, "b").unwrap_err()),
        ": expected an array `b`, found a"
    );
    for k in 0..OF_NUMPY.len() {
        let mut bytes = OF_NUMPY.to_vec();
        bytes[k] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        if let Ok(a) = Array::<i32, 2>::load_npz(&path, "a") {
            assert_eq!(a.to_vec().unwrap(), [1, 2, 3, 4, 5, 6], "byte {k}");
        }
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn names_that_are_no_names() {
    let path = fresh("names");
    let x = Vector::<f64>::zeros([1]);
    let refusal = |names: [&str; 2]| {
        let arrays: [(&str, &dyn sparsefuse_dense::SavedArray); 2] =
            names.map(|name| (name, &x as _));
        save_npz(&path, &arrays).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(["x", "x"]),
        "save_npz: expected a name of its own for each array, found `x` twice"
    );
    assert!(refusal(["", "x"]).starts_with("save_npz: expected a name with characters"));
    assert!(refusal(["../x", "x"]).ends_with("found `../x`"));
    let other = Runtime::new(Config::default()).unwrap();
    let y = other.enter(|| Vector::<f64>::zeros([1]));
    assert_eq!(
        save_npz(&path, &[("x", &x), ("y", &y)])
            .unwrap_err()
            .to_string(),
        "save_npz: expected arrays of one runtime, found arrays of two"
    );
    let error = save_npz("/nowhere/a.npz", &[("x", &x)]).unwrap_err();
    assert!(
        error.to_string().contains("a file that can be written"),
        "{error}"
    );
    assert!(!path.exists());
}
