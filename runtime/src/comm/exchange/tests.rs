//! Exchanges as plain values: all ranks of one on this thread, with letter boxes between them.

use super::requests::{self, ByOwner};
use super::{Exchange, Item, Messages, Places, Sent};
use crate::error::{Error, ErrorKind};
use crate::geometry::region::Region;
use crate::memory::bytes;
use crate::shape::Shape;
use sparsefuse_kernels::{DType, Element};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

type Letters = RefCell<BTreeMap<(usize, usize), VecDeque<Result<Vec<u8>, Error>>>>;

/// One of several ranks, and the messages between two of them.
struct Post<'a>(usize, &'a Letters);

impl Messages for Post<'_> {
    fn rank(&self) -> usize {
        self.0
    }

    fn ranks(&self) -> usize {
        2
    }

    fn send_bytes(&self, to: usize, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
        let mut letters = self.1.borrow_mut();
        letters.entry((self.0, to)).or_default().push_back(bytes);
        Ok(())
    }

    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>, Error> {
        let mut letters = self.1.borrow_mut();
        let sent = letters
            .get_mut(&(from, self.0))
            .and_then(VecDeque::pop_front);
        sent.expect("what is received has been sent")
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        mine
    }
}

/// What each rank has when all of them have sent and then received.
fn deliver<E: Element>(exchanges: &[Exchange], own: &[Vec<E>]) -> Vec<Vec<E>> {
    let letters = Letters::default();
    let item = Item::new(E::DTYPE, 1);
    let all = || (0..).zip(exchanges).zip(own);
    for ((rank, exchange), own) in all() {
        exchange.send(&Post(rank, &letters), Ok(own)).unwrap();
    }
    let arrived = all().map(|((rank, exchange), own)| {
        let arrived = bytes::filled(exchange.len(), |target| {
            let target = target?;
            exchange.keep(item, bytes::as_bytes(own), target)?;
            exchange.wait(&Post(rank, &letters), item, Ok(target))
        });
        arrived.unwrap()
    });
    let arrived = arrived.collect();
    let left = letters.into_inner().into_values().flatten().count();
    assert_eq!(left, 0, "every message is received");
    arrived
}

/// The items of all ranks by their owners, and the lists that each has got from all of them.
fn sorted(cuts: Option<&[usize]>, indices: &[Vec<u32>]) -> Vec<(ByOwner, Vec<Vec<u8>>)> {
    let ranks = indices.len();
    let sorted = indices.iter().enumerate();
    let sorted = sorted.map(|(rank, indices)| ByOwner::new((rank, ranks), cuts, indices).unwrap());
    let (sorted, lists): (Vec<_>, Vec<Vec<Vec<u8>>>) = sorted.unzip();
    let got = |rank: usize| lists.iter().map(|of| of[rank].clone()).collect();
    let all = sorted.into_iter().enumerate();
    all.map(|(rank, items)| (items, got(rank))).collect()
}

/// The exchanges of all ranks that need these indices.
fn gathering(cuts: &[usize], needed: &[Vec<u32>]) -> Vec<Exchange> {
    let asked = sorted(Some(cuts), needed).into_iter();
    asked
        .map(|(items, lists)| items.asked(cuts, lists).unwrap())
        .collect()
}

/// The exchanges of all ranks that have items of these indices, and what arrives where.
fn scattering(cuts: Option<&[usize]>, indices: &[Vec<u32>]) -> (Vec<Exchange>, Vec<Vec<u32>>) {
    let announced = sorted(cuts, indices).into_iter();
    announced
        .map(|(items, lists)| items.announced(cuts, lists).unwrap())
        .unzip()
}

/// The elements 10, 11, ... cut like this.
fn cut(cuts: &[usize]) -> Vec<Vec<f64>> {
    let part = |pair: &[usize]| (pair[0]..pair[1]).map(|i| 10.0 + i as f64).collect();
    cuts.windows(2).map(part).collect()
}

#[test]
fn indices_are_gathered_in_their_order() {
    // One rank has nothing, one needs nothing, and one needs what it has itself.
    let cuts = [0, 3, 3, 8];
    let needed = [vec![0, 2, 4, 5, 6], vec![1, 7], vec![3, 6]];
    let exchanges = gathering(&cuts, &needed);
    let expected = needed
        .each_ref()
        .map(|of| of.iter().map(|&i| 10.0 + f64::from(i)).collect());
    assert_eq!(
        deliver(&exchanges, &cut(&cuts)),
        expected.map(|of: Vec<f64>| of)
    );
    let sent: Vec<Sent> = exchanges.iter().map(|exchange| exchange.sent(8)).collect();
    let of = |messages, bytes| Sent { messages, bytes };
    assert_eq!(sent, [of(1, 8), of(0, 0), of(2, 32)]);
    // Neighbouring items are one run, others a list.
    let places: Vec<&Places> = exchanges[2]
        .sends()
        .iter()
        .map(|(_, places)| places)
        .collect();
    assert_eq!(places, [&Places::Run(1..4), &Places::Run(4..5)]);
    // The way back brings each element to where it came from.
    let back: Vec<Exchange> = exchanges.iter().map(Exchange::reversed).collect();
    let found = deliver(&back, &deliver(&exchanges, &cut(&cuts)));
    assert_eq!(
        found,
        [
            vec![10.0, 11.0, 12.0],
            vec![],
            vec![13.0, 14.0, 15.0, 16.0, 17.0]
        ]
    );
}

#[test]
fn items_are_scattered_in_the_order_of_the_ranks() {
    let cuts = [0, 2, 5];
    let indices = [vec![4, 0, 4, 1], vec![1, 1, 3]];
    let own = [vec![1u32, 2, 3, 4], vec![5, 6, 7]];
    let (exchanges, arrived) = scattering(Some(&cuts), &indices);
    assert_eq!(arrived, [vec![0, 1, 1, 1], vec![4, 4, 3]]);
    assert_eq!(deliver(&exchanges, &own), [vec![2, 4, 5, 6], vec![1, 3, 7]]);
    let back: Vec<Exchange> = exchanges.iter().map(Exchange::reversed).collect();
    assert_eq!(deliver(&back, &deliver(&exchanges, &own)), own);
    // Without owners every rank gets every item.
    let (exchanges, arrived) = scattering(None, &indices);
    assert_eq!(arrived, vec![indices.concat(); 2]);
    assert_eq!(deliver(&exchanges, &own), vec![own.concat(); 2]);
}

#[test]
fn ranges_move_without_being_asked_for() {
    let (held, wanted) = ([0, 4, 4, 6], [0, 1, 5, 6]);
    let of =
        |rank| Exchange::to_ranges(rank, &held, |rank| wanted[rank]..wanted[rank + 1]).unwrap();
    assert_eq!(deliver(&[of(0), of(1), of(2)], &cut(&held)), cut(&wanted));
    let everywhere = |rank| Exchange::to_ranges(rank, &held, |_| 0..6).unwrap();
    let all: Vec<f64> = cut(&held).concat();
    let found = deliver(&[everywhere(0), everywhere(1), everywhere(2)], &cut(&held));
    assert_eq!(found, vec![all; 3]);
}

#[test]
fn boxes_of_two_dimensions() {
    // Rows 0..2 and 2..4 of four columns; one rank wants the inner box, the other a column.
    let shape = Shape::new(&[4, 4]);
    let held = |rank: usize| Region::of_rows(shape, &(2 * rank..2 * rank + 2));
    let needed = |rank: usize| {
        let mut region = Region::of_rows(shape, &(1 - rank..3 + rank));
        (region.lo[1], region.hi[1]) = if rank == 0 { (1, 3) } else { (0, 1) };
        region
    };
    let of = |rank| Exchange::of_boxes((rank, 2), held, needed, needed(rank));
    let own = [0u32, 8].map(|first| (first..first + 8).collect::<Vec<u32>>());
    let found = deliver(&[of(0), of(1)], &own);
    assert_eq!(found, [vec![5, 6, 9, 10], vec![0, 4, 8, 12]]);
    // Whole rows are a run.
    let all = Region::of_rows(shape, &(0..4));
    let rows = Exchange::of_boxes((0, 2), held, |_| all, all);
    assert_eq!(rows.sends()[0].1, Places::Run(0..8));
    assert_eq!(rows.receives()[0].1, Places::Run(8..16));
}

#[test]
fn entries_follow_their_rows() {
    // Rows of 1, 0, 3 entries on one rank, and 2 on the other.
    let cuts = [0, 3, 4];
    let rows = gathering(&cuts, &[vec![0, 3], vec![0, 1, 2]]);
    let here = [vec![0, 1, 1, 4], vec![0, 2]];
    let there = [vec![0, 1, 3], vec![0, 1, 1, 4]];
    let entries = |rank: usize| {
        let run = |pos: &[usize], row: usize| pos[row]..pos[row + 1];
        rows[rank].of_runs(|row| run(&here[rank], row), |row| run(&there[rank], row))
    };
    let entries = [entries(0), entries(1)];
    let found = deliver(&entries, &[vec![1i64, 2, 3, 4], vec![5, 6]]);
    assert_eq!(found, [vec![1, 5, 6], vec![1, 2, 3, 4]]);
    // Neighbouring rows are one run.
    assert_eq!(entries[0].sends()[0].1, Places::Run(0..4));
}

#[test]
fn items_of_every_size() {
    let places = [
        Places::Listed(vec![4, 0, 3]),
        Places::Runs(vec![3..5, 0..1]),
    ];
    for size in [1, 2, 4, 8, 16, 24] {
        let item = Item {
            size,
            ..Item::new(DType::F32, 1)
        };
        let memory: Vec<u8> = (0..5 * size as u8).collect();
        for (places, expected) in places.iter().zip([[4, 0, 3], [3, 4, 0]]) {
            let mut message = vec![0xff; 3 * size];
            places.take(item, &memory, &mut message);
            let of = |place: usize| &memory[place * size..(place + 1) * size];
            assert_eq!(message, expected.map(of).concat(), "{size} bytes");
            let mut back = vec![0; memory.len()];
            places.put(item, &message, &mut back);
            for place in expected {
                assert_eq!(back[place * size..(place + 1) * size], *of(place));
            }
        }
    }
}

#[track_caller]
fn assert_is_of_rank<R: std::fmt::Debug>(outcome: Result<R, Error>, expected: usize) {
    let error = outcome.unwrap_err();
    let rank = match error.kind() {
        ErrorKind::Rank { rank, .. } => *rank,
        _ => panic!("{error}"),
    };
    assert_eq!(rank, expected, "{error}");
}

#[test]
fn lists_that_do_not_fit_are_errors() {
    let cuts = [0, 4, 8];
    let items = |indices: &[u32]| ByOwner::new((0, 2), Some(&cuts), indices);
    let asked = |list: &[u8]| {
        let (items, _) = items(&[1, 5]).unwrap();
        items.asked(&cuts, vec![Vec::new(), list.to_vec()])
    };
    let announced = |list: &[u8]| {
        let (items, _) = items(&[1, 5]).unwrap();
        items.announced(Some(&cuts), vec![Vec::new(), list.to_vec()])
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let no_places: [Vec<u8>; 3] = [words(&[4]), words(&[0, u32::MAX]), vec![0; 3]];
    for list in no_places {
        assert_is_of_rank(asked(&list), 1);
        assert_is_of_rank(announced(&list), 1);
    }
    // What a rank needs ascends; what it has for others may be in any order.
    for list in [[1, 1], [2, 0]] {
        let bytes: Vec<u8> = words(&list);
        assert_is_of_rank(asked(&bytes), 1);
        let (_, arrived) = announced(&bytes).unwrap();
        assert_eq!(arrived, [&[1][..], &list].concat());
    }
    let refused = items(&[2, 8]).map(drop).unwrap_err().to_string();
    assert_eq!(refused, "exchange: expected indices below 8, found 8");
    let refused = requests::pick(&[2, 2]).unwrap_err().to_string();
    let expected = "exchange: expected indices that ascend strictly, found 2 after 2";
    assert_eq!(refused, expected);
}

#[test]
fn ranks_that_follow_one_another_get_all_before_them() {
    let cuts = [0, 2, 2, 3];
    let relays: Vec<_> = (0..3)
        .map(|rank| Exchange::relay(rank, &cuts).unwrap())
        .collect();
    let all = [4i32, 5, 6];
    let own: Vec<Vec<i32>> = cuts[1..].iter().map(|&cut| all[..cut].to_vec()).collect();
    assert_eq!(deliver(&relays, &own), [&[][..], &[4, 5], &[4, 5]]);
    assert_eq!(relays[2].sent(4), Sent::default());
    let refused = Exchange::relay(3, &cuts).unwrap_err().to_string();
    let expected = "exchange: expected 5 cuts that ascend from 0, found [0, 2, 2, 3]";
    assert_eq!(refused, expected);
}

#[test]
fn ranges_that_do_not_fit_are_errors() {
    let refused = |rank, held: &[usize], wanted: std::ops::Range<usize>| {
        let exchange = Exchange::to_ranges(rank, held, |_| wanted.clone());
        exchange.unwrap_err().to_string()
    };
    assert_eq!(
        refused(0, &[0, 3, 2], 0..1),
        "exchange: expected 3 cuts that ascend from 0, found [0, 3, 2]"
    );
    assert_eq!(
        refused(2, &[0, 3, 4], 0..1),
        "exchange: expected 4 cuts that ascend from 0, found [0, 3, 4]"
    );
    assert_eq!(
        refused(0, &[], 0..1),
        "exchange: expected 2 cuts that ascend from 0, found []"
    );
    assert_eq!(
        refused(0, &[1, 2], 0..1),
        "exchange: expected 2 cuts that ascend from 0, found [1, 2]"
    );
    assert_eq!(
        refused(0, &[0, 2], 1..3),
        "exchange: expected ranges of 0..2, found 1..3"
    );
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    let reversed = refused(0, &[0, 2], 2..1);
    assert_eq!(reversed, "exchange: expected ranges of 0..2, found 2..1");
}

#[test]
fn messages_and_memory_that_do_not_fit_are_errors() {
    let exchanges = gathering(&[0, 2, 4], &[vec![2], vec![0, 1]]);
    let letters = Letters::default();
    let posts = [Post(0, &letters), Post(1, &letters)];
    // Another type, and a bool that is none.
    exchanges[0].send(&posts[0], Ok(&[1.0f64, 2.0])).unwrap();
    assert_is_of_rank(exchanges[1].receive::<f32>(&posts[1]), 0);
    posts[0].send_bytes(1, Ok(vec![0, 2])).unwrap();
    assert_is_of_rank(exchanges[1].receive::<bool>(&posts[1]), 0);
    exchanges[0].send(&posts[0], Ok(&[true, false])).unwrap();
    assert_eq!(
        exchanges[1].receive::<bool>(&posts[1]),
        Ok(vec![true, false])
    );
    // A rank that holds something else tells the one that waits for it.
    let refused = exchanges[0].send(&posts[0], Ok(&[1.0f64])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "exchange: expected 2 items of 1 elements, found 1"
    );
    assert_eq!(exchanges[1].receive::<f64>(&posts[1]), Err(refused));
    // Memory that is too short is never read or written.
    let item = Item::new(DType::F64, 1);
    let refused = exchanges[0]
        .post(&posts[0], item, Ok(&[0; 15]))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "exchange: expected memory of 2 items of 8 bytes, found 15 bytes"
    );
    assert_eq!(
        exchanges[1].wait(&posts[1], item, Ok(&mut [0; 16])),
        Err(refused)
    );
    exchanges[0].send(&posts[0], Ok(&[1.0f64, 2.0])).unwrap();
    let refused = exchanges[1]
        .wait(&posts[1], item, Ok(&mut [0; 15]))
        .unwrap_err();
    assert!(refused.to_string().ends_with("found 15 bytes"), "{refused}");
    let left = letters.into_inner().into_values().flatten().count();
    assert_eq!(
        left, 0,
        "a message that cannot be kept is received all the same"
    );
}
