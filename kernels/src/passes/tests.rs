//! Golden text for each pass, and random kernels that must keep every bit.

#![expect(
    unsafe_code,
    reason = "the reference interpreter works on plain memory"
)]

use super::*;
use crate::generate;
use crate::reference;
use crate::text::parse;
use crate::verify::verify;

/// The reference, as a safe function for launches of generated cases.
fn run(kernel: &Kernel, launch: &crate::launch::Launch<'_>) {
    // SAFETY: the kernel is verified, and the generator binds every argument to memory that fits.
    unsafe { reference::run(kernel, launch) };
}

fn check_random(seed: u64, tile_len: usize) {
    let case = generate::case(seed, tile_len);
    verify(&case.kernel).unwrap();
    let expected = case.without_temporaries(case.run_whole(run));
    let original = case.kernel.to_string();
    let all_args: Vec<ArgId> = (0..case.kernel.args.len() as ArgId).collect();
    let all_params: Vec<u32> = (0..case.params.len() as u32).collect();
    let check = |pass: &str, kernel: &Kernel, args: &[ArgId], params: &[u32]| {
        let about = || format!("seed {seed}, tiles of {tile_len}, {pass}\n{original}\n{kernel}");
        assert_eq!(verify(kernel), Ok(()), "{}", about());
        let found = case.without_temporaries(case.run(kernel, args, params, run));
        assert!(found == expected, "{}", about());
    };
    let optimized = optimize_with(case.kernel.clone(), &mut |pass, kernel| {
        if pass != "compact" {
            check(pass, kernel, &all_args, &all_params);
        }
    });
    check(
        "compact",
        &optimized.kernel,
        &optimized.args,
        &optimized.params,
    );
}

#[test]
fn passes_keep_every_bit_of_random_kernels() {
    for seed in 0..6000 {
        check_random(seed, [1, 3, 16][seed as usize % 3]);
    }
    for seed in 0..20 {
        check_random(seed, 1024);
    }
}

/// Words of valid kernels in wrong places: nothing may panic, and what the verifier accepts the
/// passes must keep valid.
#[test]
fn damaged_kernels_are_refused_or_stay_valid() {
    let mut n_valid = 0;
    for seed in 0..3000 {
        let text = generate::case(seed, 16).kernel.to_string();
        let mut words: Vec<&str> = text.split_whitespace().collect();
        for change in 0..1 + seed % 3 {
            let choose = |k, n| crate::random::bits(seed, 2 * change + k) as usize % n;
            let to = choose(0, words.len());
            // Mostly grammatical: values take the place of values, arguments of arguments.
            let alike = |word: &&&str| word.as_bytes()[0] == words[to].as_bytes()[0];
            let others: Vec<&str> = words.iter().filter(alike).copied().collect();
            words[to] = others[choose(1, others.len())];
        }
        let Ok(kernel) = parse(&words.join(" ")) else {
            continue;
        };
        if verify(&kernel).is_ok() {
            n_valid += 1;
            let _ = optimize_with(kernel.clone(), &mut |pass, after| {
                assert_eq!(verify(after), Ok(()), "{pass}\n{kernel}\n{after}");
            });
        }
    }
    assert!(n_valid > 500, "only {n_valid} damaged kernels were valid");
}

const HEADER: &str = "kernel(
    a0: array f64 @0, a1: array f64 @1, a2: array f64 @2 temporary, a3: array f64 @0,
    a4: scalar f64 @4, a5: scalar f64 @5, a6: gather f64 @1, a7: entries f64 @7,
    a8: structure u32 @8, a9: reduction f64 @9, a10: array bool @10, a11: scalar f64 @1,
    a12: reduction f64 @12 temporary, a13: array u32 @13; p0: f64, p1: u32)";

/// Runs one pass on the loops before `=>`, which must become those after it.
fn check(pass: fn(&mut Kernel, &Memories), loops: &str) {
    let (before, after) = loops.split_once("=>").unwrap();
    let kernel = |loops: &str| parse(&format!("{HEADER} {{ {loops} }}")).unwrap();
    let mut found = kernel(before);
    assert_eq!(verify(&found), Ok(()), "{before}");
    let memories = Memories::new(&found.args);
    pass(&mut found, &memories);
    assert_eq!(found.to_string(), kernel(after).to_string(), "{before}");
}

#[test]
fn merge_joins_loops_that_exchange_values_row_by_row() {
    let check = |loops: &str| check(merge::merge, loops);
    check(
        "loop d0 { %0 = load a0 store a1 %0 }
         loop d0 { %0 = load a1 %1 = neg %0 store a0 %1 }
      => loop d0 {
           %0 = load a0 store a1 %0
           %2 = load a1 %3 = neg %2 store a0 %3
         }",
    );
    // Scalar arithmetic takes the domain of its neighbour, before and after it.
    check(
        "loop d0 { %0 = load_scalar a4 store_scalar a5 %0 }
         loop d1 { %0 = load_scalar a5 %1 = load a0 %2 = mul %0 %1 store a0 %2 }
         loop d2 { %0 = param p0 store_scalar a4 %0 }
      => loop d1 {
           %0 = load_scalar a4 store_scalar a5 %0
           %2 = load_scalar a5 %3 = load a0 %4 = mul %2 %3 store a0 %4
           %6 = param p0 store_scalar a4 %6
         }",
    );
}

#[test]
fn merge_passes_over_independent_loops() {
    let check = |loops: &str| check(merge::merge, loops);
    check(
        "loop d0 { %0 = load a0 store a1 %0 }
         loop d1 { %0 = load a10 %1 = not %0 store a10 %1 }
         loop d0 { %0 = load a1 store a2 %0 }
      => loop d0 { %0 = load a0 store a1 %0 %2 = load a1 store a2 %2 }
         loop d1 { %0 = load a10 %1 = not %0 store a10 %1 }",
    );
    // The loop between reads what the last one writes, though not as the last of all.
    check(
        "loop d0 { %0 = load a0 store a2 %0 }
         loop d1 { %0 = load a1 reduce sum a9 %0 }
         loop d0 { %0 = load a1 store a2 %0 }
         loop d0 { %0 = load a0 store a1 %0 }
      => loop d0 { %0 = load a0 store a2 %0 %2 = load a1 store a2 %2 }
         loop d1 { %0 = load a1 reduce sum a9 %0 }
         loop d0 { %0 = load a0 store a1 %0 }",
    );
}

/// `new = f(u); v = u; v[..] = new`, the last through a view: the copy was issued between what
/// computes the elements and what writes them.
#[test]
fn a_copy_goes_in_front_of_a_loop_that_it_does_not_depend_on() {
    let check = |loops: &str| check(merge::merge, loops);
    check(
        "loop d0 { %0 = load a1 %1 = neg %0 store a2 %1 }
         loop d1 { %0 = load a1 store a0 %0 }
         loop d0 { %0 = load a2 store a3 %0 }
      => loop d1 { %0 = load a1 store a0 %0 }
         loop d0 { %0 = load a1 %1 = neg %0 store a2 %1 %3 = load a2 store a3 %3 }",
    );
    // A copy of what the last loop has written, or to what it has read.
    for same in [
        "loop d0 { %0 = load a1 %1 = neg %0 store a2 %1 } loop d1 { %0 = load a2 store a0 %0 }",
        "loop d0 { %0 = load a1 %1 = neg %0 store a2 %1 } loop d1 { %0 = load a0 store a1 %0 }",
    ] {
        check(&format!("{same} => {same}"));
    }
    // Only the last loop is passed by: what follows finds the loops where they are now.
    check(
        "loop d0 { %0 = load a2 %1 = neg %0 store a2 %1 }
         loop d2 { %0 = load a13 %1 = add %0 %0 store a13 %1 }
         loop d1 { %0 = load a1 store a0 %0 }
         loop d2 { %0 = load a13 %1 = add %0 %0 store a13 %1 }
      => loop d0 { %0 = load a2 %1 = neg %0 store a2 %1 }
         loop d1 { %0 = load a1 store a0 %0 }
         loop d2 {
           %0 = load a13 %1 = add %0 %0 store a13 %1 %3 = load a13 %4 = add %3 %3 store a13 %4
         }",
    );
}

#[test]
fn merge_keeps_loops_that_meet_in_any_other_way() {
    for same in [
        // A product reads any row of what the first loop writes.
        "loop d0 { %0 = load a0 store a1 %0 } loop d0 { %0 = row_sum a8 a7 a6 store a2 %0 }",
        "loop d0 { %0 = row_sum a8 a7 a6 store a2 %0 } loop d0 { %0 = load a0 store a1 %0 }",
        // Two views of one store.
        "loop d0 { %0 = load a1 store a0 %0 } loop d0 { %0 = load a3 store a2 %0 }",
        "loop d0 { %0 = load a0 %1 = load a3 store a2 %1 } loop d0 { %0 = load a1 store a0 %0 }",
        "loop d0 { %0 = load a1 store a0 %0 store a3 %0 } loop d0 { %0 = load a3 store a2 %0 }",
        // An element of an array, read as a scalar.
        "loop d0 { %0 = load a0 store a1 %0 } loop d0 { %0 = load_scalar a11 store_scalar a4 %0 }",
        // Other rows.
        "loop d0 { %0 = load a0 store a1 %0 } loop d1 { %0 = load a2 %1 = neg %0 store a2 %1 }",
    ] {
        check(merge::merge, &format!("{same} => {same}"));
    }
}

#[test]
fn a_loop_that_gathers_takes_little_arithmetic() {
    let check = |loops: &str| check(merge::merge, loops);
    check(
        "loop d0 { %0 = gather a8 a6 store a2 %0 }
         loop d0 { %0 = load a2 %1 = neg %0 store a0 %1 }
      => loop d0 { %0 = gather a8 a6 store a2 %0 %2 = load a2 %3 = neg %2 store a0 %3 }",
    );
    // What has more stays apart, and takes what comes later.
    check(
        "loop d0 { %0 = gather a8 a6 store a2 %0 }
         loop d0 { %0 = load a2 %1 = erf %0 %2 = erf %1 store a0 %2 }
         loop d0 { %0 = load a0 %1 = neg %0 store a0 %1 }
      => loop d0 { %0 = gather a8 a6 store a2 %0 }
         loop d0 {
           %0 = load a2 %1 = erf %0 %2 = erf %1 store a0 %2
           %4 = load a0 %5 = neg %4 store a0 %5
         }",
    );
    // A gather reads any row of what a loop has written.
    let same = "loop d0 { %0 = load a0 store a1 %0 } loop d0 { %0 = gather a8 a6 store a2 %0 }";
    check(&format!("{same} => {same}"));
}

#[test]
fn forward_hands_stored_values_on() {
    let check = |loops: &str| check(forward::forward, loops);
    check(
        "loop d0 { %0 = load a0 store a1 %0 %2 = load a1 %3 = neg %2 store a1 %3 }
      => loop d0 { %0 = load a0 %1 = neg %0 store a1 %1 }",
    );
    check(
        "loop d0 {
           %0 = param p0 store_scalar a4 %0 %2 = load_scalar a4 store_scalar a5 %2
         }
      => loop d0 { %0 = param p0 store_scalar a4 %0 store_scalar a5 %0 }",
    );
    // Another view may be of the same element: it must read the first store, and hides the value.
    let same = "loop d0 {
        %0 = load a1 store a0 %0 %2 = load a3 store a2 %2 %4 = neg %2 store a0 %4
    }";
    check(&format!("{same} => {same}"));
    let same = "loop d0 { %0 = load a1 store a0 %0 store a3 %0 %3 = load a0 store a2 %3 }";
    check(&format!("{same} => {same}"));
    // A product may read what its row has stored.
    let same = "loop d0 {
        %0 = load a0 store a1 %0 %2 = row_sum a8 a7 a6 store a2 %2 %4 = neg %0 store a1 %4
    }";
    check(&format!("{same} => {same}"));
    // Loops follow each other.
    let same = "loop d0 { %0 = load a0 store a1 %0 } loop d0 { %0 = load a1 store a1 %0 }";
    check(&format!("{same} => {same}"));
}

#[test]
fn fold_keeps_the_bits_of_every_input() {
    let check = |loops: &str| check(|kernel, _| fold::fold(kernel), loops);
    check(
        "loop d0 {
           %0 = const f64 2.0 %1 = const f64 3.0 %2 = mul %0 %1 %3 = sqrt %0 %4 = lt %0 %1
           %5 = load a0 %6 = select %4 %5 %2 store a0 %6
         }
      => loop d0 {
           %0 = const f64 2.0 %1 = const f64 3.0 %2 = const f64 6.0
           %3 = const f64 1.4142135623730951 %4 = const bool true
           %5 = load a0 %6 = select %4 %5 %2 store a0 %5
         }",
    );
    // What is left in place is dead.
    check(
        "loop d0 {
           %0 = load a0 %1 = neg %0 %2 = neg %1 %3 = cast f64 %2 %4 = re %3
           %5 = const f64 1.0 %6 = mul %5 %4 %7 = div %6 %5
           %8 = const f64 -0.0 %9 = add %7 %8 store a0 %9
         }
      => loop d0 {
           %0 = load a0 %1 = neg %0 %2 = neg %1 %3 = cast f64 %0 %4 = re %0
           %5 = const f64 1.0 %6 = mul %5 %0 %7 = div %0 %5
           %8 = const f64 -0.0 %9 = add %0 %8 store a0 %0
         }",
    );
    let same = "loop d0 {
        %0 = load a0 %1 = const f64 0.0 %2 = add %0 %1 %3 = mul %2 %1 %4 = sub %1 %3
        %5 = cast cf64 %4 %6 = const cf64 (1.0,0.0) %7 = mul %5 %6 %8 = re %7
        %9 = min %8 %8 store a0 %9
    }";
    check(&format!("{same} => {same}"));
}

#[test]
fn cse_knows_what_stores_change() {
    let check = |loops: &str| check(cse::cse, loops);
    check(
        "loop d0 {
           %0 = load a0 %1 = load a0 %2 = add %0 %1 %3 = add %1 %0 store a1 %3
           %5 = load a0 store a2 %5
         }
      => loop d0 {
           %0 = load a0 %1 = load a0 %2 = add %0 %0 %3 = add %0 %0 store a1 %2
           %5 = load a0 store a2 %0
         }",
    );
    let same = "loop d0 { %0 = load a0 store a3 %0 %2 = load a0 store a1 %2 }";
    check(&format!("{same} => {same}"));
    // The bits of zeros differ.
    let same = "loop d0 {
        %0 = const f64 0.0 store_scalar a4 %0 %2 = const f64 -0.0 store_scalar a5 %2
    }";
    check(&format!("{same} => {same}"));
}

#[test]
fn dce_keeps_what_somebody_reads() {
    let check = |loops: &str| check(dce::dce, loops);
    check(
        "loop d0 { %0 = load a0 %1 = neg %0 %2 = exp %0 store a2 %1 reduce sum a12 %1 }
         loop d1 { %0 = load a0 store a1 %0 }
      => loop d1 { %0 = load a0 store a1 %0 }",
    );
    let same = "loop d0 { %0 = load a0 store a2 %0 reduce sum a9 %0 }
                loop d1 { %0 = load a2 store a1 %0 }";
    check(&format!("{same} => {same}"));
    // A reader that is dead itself does not count.
    check(
        "loop d0 { %0 = load a0 store a2 %0 } loop d1 { %0 = load a2 }
      =>",
    );
}

#[test]
fn compact_renumbers_what_is_left() {
    let kernel = parse(&format!(
        "{HEADER} {{ loop d3 {{ %0 = param p1 store a13 %0 %2 = load a10 store a10 %2 }} }}"
    ));
    let optimized = optimize(kernel.unwrap());
    assert_eq!(optimized.args, [10, 13]);
    assert_eq!(optimized.params, [1]);
    let expected = "\
kernel(a0: array bool @10, a1: array u32 @13; p0: u32) {
  loop d3 {
    %0 = param p0
    store a1 %0
    %2 = load a0
    store a0 %2
  }
}
";
    assert_eq!(optimized.kernel.to_string(), expected);
}

/// Rows in front of a grid and behind it, which have nothing in common.
#[test]
fn short_loops_are_split_into_what_has_nothing_in_common() {
    let mut kernel = parse(
        "kernel(a0: array f64 @0, a1: array f64 @0, a2: array f64 @1, a3: array f64 @2,
           a4: array f64 @3; p0: f64) {
           loop d0 { %0 = load a0 %1 = param p0 %2 = mul %0 %1 store a2 %2
             %4 = load a1 %5 = mul %4 %1 store a3 %5 %7 = load a2 store a4 %7 }
           loop d1 { %0 = load a0 store a2 %0 %2 = load a1 store a3 %2 }
         }",
    )
    .unwrap();
    split(&mut kernel, |domain| domain == 0);
    assert_eq!(verify(&kernel), Ok(()));
    let loops: Vec<_> = kernel
        .loops
        .iter()
        .map(|it| (it.domain, it.body.len()))
        .collect();
    // The value of `p0` is there in both.
    assert_eq!(loops, [(0, 6), (0, 4), (1, 4)]);
}
