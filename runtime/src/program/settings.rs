//! Settings that must be the same on all processes.

use crate::comm::Comm;
use crate::config::Config;
use crate::error::Error;

/// Refuses settings that are not the same on all processes, as far as what ranks send to each other
/// depends on them; `comm` is that of the processes.
pub(crate) fn check_alike(comm: &dyn Comm, config: &Config, ranks: usize) -> Result<(), Error> {
    if comm.size() == 1 {
        return Ok(());
    }
    let Config {
        tile_len,
        cut_threshold,
        fusion,
        window,
        max_window,
        check_ranks,
        ..
    } = config;
    let mine = format!(
        "ranks {ranks}, tile_len {tile_len}, cut_threshold {cut_threshold}, fusion {fusion}, \
         window {window}, max_window {max_window}, check_ranks {check_ranks}"
    );
    let all = comm.all_gather(Ok(mine.into_bytes()))?;
    let text = |settings: &[u8]| String::from_utf8_lossy(settings).into_owned();
    match all.iter().position(|settings| *settings != all[0]) {
        None => Ok(()),
        Some(process) => Err(Error::argument(
            "settings",
            format!("those of process 0 on all processes, {}", text(&all[0])),
            format!("{} on process {process}", text(&all[process])),
        )),
    }
}
