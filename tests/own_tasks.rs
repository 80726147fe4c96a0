//! The tests of the crate `examples/own-tasks`, which is a workspace of its own: run here, they
//! need nothing compiled twice.

#[path = "../examples/own-tasks/src/everywhere.rs"]
mod everywhere;
#[path = "../examples/own-tasks/src/finding.rs"]
mod finding;
#[path = "../examples/own-tasks/src/format.rs"]
mod format;
#[path = "../examples/own-tasks/src/fused.rs"]
mod fused;
#[path = "../examples/own-tasks/src/library.rs"]
mod library;
#[path = "../examples/own-tasks/src/reduction.rs"]
mod reduction;
#[path = "../examples/own-tasks/src/stencil.rs"]
mod stencil;
#[path = "../examples/own-tasks/src/variants.rs"]
mod variants;

/// What the crate's `main` prints.
#[test]
fn each_shows_itself_at_work() -> Result<(), sparsefuse::Error> {
    let explained = fused::show()?;
    assert!(explained.contains("map on replicated"), "{explained}");
    assert!(stencil::show()?.starts_with("100 steps"));
    assert!(library::show()?.starts_with("the first spectrum"));
    assert!(reduction::show()?.contains("34166, 34119"));
    assert!(format::show()?.ends_with("iterations"));
    assert!(variants::show()?.starts_with("the largest"));
    assert!(finding::show()?.contains("normal numbers are beyond"));
    Ok(())
}
