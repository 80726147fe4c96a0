//! In which region of the program the tasks of a window were issued.

use std::borrow::Cow;
use std::sync::Arc;

/// The tasks of a window that were issued in a region, by their numbers, ascending; no part of what
/// the window does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions(Vec<(usize, Arc<str>)>);

impl Regions {
    pub(crate) fn push(&mut self, task: usize, region: Arc<str>) {
        self.0.push((task, region));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The regions of some tasks, each once, in the order of the tasks: `velocity+pressure`.
    /// Nothing of tasks in no region.
    pub(crate) fn of(&self, tasks: impl Iterator<Item = usize>) -> Cow<'_, str> {
        let mut found: Vec<&str> = Vec::new();
        if !self.0.is_empty() {
            for task in tasks {
                let place = self.0.binary_search_by_key(&task, |(number, _)| *number);
                if let Ok(place) = place
                    && let region = &*self.0[place].1
                    && !found.contains(&region)
                {
                    found.push(region);
                }
            }
        }
        match found[..] {
            [] => Cow::Borrowed(""),
            [region] => Cow::Borrowed(region),
            _ => Cow::Owned(found.join("+")),
        }
    }
}
