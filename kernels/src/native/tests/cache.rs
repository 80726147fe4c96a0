//! The directory of libraries: what is loaded from it, what is removed.

use super::super::cache::{Cache, Found, Workplace};
use super::*;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::time::{Duration, SystemTime};

pub(super) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Puts a library of 100 bytes there, made this many seconds ago.
fn put(cache: &Cache<'_>, folder: &Folder, key: &str, age: u64) {
    let built = folder.0.join("built");
    fs::write(&built, [b'x'; 100]).unwrap();
    let file = fs::File::options().write(true).open(&built).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age))
        .unwrap();
    cache.keep(key, &built).unwrap();
}

/// A workplace for a library that is not there.
pub(super) fn begin(cache: &Cache<'_>, key: &str) -> Workplace {
    match cache.find_or_begin(key, Duration::from_secs(60)).unwrap() {
        Found::Workplace(workplace) => workplace,
        Found::Library(path) => panic!("{} is there", path.display()),
    }
}

#[test]
fn the_oldest_libraries_are_removed() {
    let folder = Folder::new("trim");
    let directory = folder.0.join("cache");
    // Of 100 bytes and their seal.
    let cache = Cache::new(&directory, 450);
    cache.open().unwrap();
    for (key, age) in [("a", 500), ("b", 400), ("c", 300)] {
        put(&cache, &folder, key, age);
    }
    // Whoever is used is new again.
    assert!(cache.find("a").is_some());
    put(&cache, &folder, "d", 200);
    let there = |key: &&str| cache.find(key).is_some();
    let left: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(there).collect();
    assert_eq!(left, ["a", "c", "d"]);
    // The newest stays, however large.
    let cache = Cache::new(&directory, 10);
    put(&cache, &folder, "e", 600);
    let there = |key: &&str| cache.find(key).is_some();
    let left: Vec<&str> = ["a", "c", "d", "e"].into_iter().filter(there).collect();
    assert_eq!(left, ["e"]);
}

#[test]
fn only_libraries_of_the_user_are_found() {
    let folder = Folder::new("mine");
    let directory = folder.0.join("cache");
    let cache = Cache::new(&directory, 1 << 20);
    cache.open().unwrap();
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    put(&cache, &folder, "good", 0);
    put(&cache, &folder, "open", 0);
    set_mode(&directory.join("open.so"), 0o666);
    symlink(directory.join("good.so"), directory.join("link.so")).unwrap();
    fs::create_dir(directory.join("folder.so")).unwrap();
    assert!(cache.find("good").is_some());
    for key in ["open", "link", "folder", "missing"] {
        assert_eq!(cache.find(key), None, "{key}");
    }
    // Only root may give files away.
    put(&cache, &folder, "foreign", 0);
    if chown(directory.join("foreign.so"), Some(12345), None).is_ok() {
        assert_eq!(cache.find("foreign"), None);
        chown(&directory, Some(12345), None).unwrap();
        assert!(cache.open().is_err());
    }
}

#[test]
fn workplaces_are_removed_at_the_end_or_later() {
    let folder = Folder::new("workplaces");
    let directory = folder.0.join("cache");
    let cache = Cache::new(&directory, 1 << 20);
    cache.open().unwrap();
    let limit = Duration::from_millis(100);
    let (old, young) = (directory.join("compile-1-0"), directory.join("compile-2-0"));
    for left_behind in [&old, &young] {
        fs::create_dir(left_behind).unwrap();
        fs::write(left_behind.join("loop.c"), "").unwrap();
    }
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&old)
        .unwrap()
        .set_modified(hour_ago)
        .unwrap();
    // Of a process that has been killed, and of one that is at work.
    let (killed, busy) = (directory.join("compile-3-0"), directory.join("compile-4-0"));
    let locks = [&killed, &busy].map(|folder| {
        fs::create_dir(folder).unwrap();
        fs::File::create(folder.join("lock")).unwrap()
    });
    locks[1].try_lock().unwrap();
    let workplace = begin(&cache, "a");
    assert!(workplace.directory.is_dir() && young.is_dir() && !old.exists());
    assert!(busy.is_dir() && !killed.exists());
    let second = begin(&cache, "b");
    assert!(workplace.directory.is_dir());
    drop(second);
    // There is one for each library, and no one waits longer for it than it may take.
    let slow = cache.find_or_begin("a", limit);
    assert!(matches!(slow, Err(Failure::Slow(_))), "{slow:?}");
    let path = workplace.directory.clone();
    drop(workplace);
    assert!(!path.exists());
}

#[test]
fn workplaces_outlive_the_sweeps_of_others() {
    let folder = Folder::new("sweeps");
    let toolchain = folder.toolchain();
    let cache = Cache::new(&toolchain.directory, toolchain.most_bytes);
    cache.open().unwrap();
    let work = |thread: usize| {
        for i in 0..200 {
            // Some of its own, some that others want too.
            let key = match i % 2 {
                0 => format!("{thread}"),
                _ => "all".to_owned(),
            };
            let place = begin(&cache, &key);
            fs::write(place.directory.join("loop.c"), "").unwrap();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || work(thread));
        }
    });
    assert_eq!(fs::read_dir(&toolchain.directory).unwrap().count(), 0);
}
