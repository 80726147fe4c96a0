//! Tasks of one's own: seven ways, one file each, as `docs/own-tasks.md` explains them.
//!
//! Each file has the task, a function that shows it at work, and a test that compares it with plain
//! loops, on ranks and threads.

mod fused;
mod stencil;

mod library;
mod reduction;

mod finding;
mod format;
mod variants;

#[cfg(test)]
mod everywhere;

use sparsefuse::prelude::*;

fn main() -> Result<(), Error> {
    let shown = [
        ("1. a fused function", fused::show()?),
        ("2. a stencil", stencil::show()?),
        ("3. another library", library::show()?),
        ("4. a reduction into an array", reduction::show()?),
        ("5. a sparse format", format::show()?),
        ("6. two variants", variants::show()?),
        ("7. a size that is found", finding::show()?),
    ];
    for (heading, text) in shown {
        println!("== {heading}\n{text}\n");
    }
    Ok(())
}

#[test]
fn each_shows_itself_at_work() -> Result<(), Error> {
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
