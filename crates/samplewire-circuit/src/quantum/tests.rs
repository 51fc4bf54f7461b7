use super::*;
use crate::{Pool, PoolConfig, TagKind};
use num_complex::Complex;

fn pool(quanta: usize, capacity_bytes: usize) -> Pool {
    Pool::new(PoolConfig::new(quanta, capacity_bytes)).unwrap()
}

#[test]
fn data_begin_at_a_cache_line_in_every_quantum() {
    let pool = pool(5, 1_000);
    let mut quanta: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    for quantum in &mut quanta {
        quantum.set_len(1);
        assert_eq!(quantum.data().as_ptr() as usize % 64, 0);
    }
    assert_eq!(quanta.len(), 5);
}

#[test]
fn quanta_that_are_filled_to_the_brim_do_not_touch() {
    let pool = pool(4, 100);
    let mut quanta: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    for (fill, quantum) in (1..).zip(&mut quanta) {
        quantum.set_len(100);
        quantum.prepend(64).unwrap();
        quantum.append(64).unwrap();
        quantum.data_mut().fill(fill);
    }
    for (fill, quantum) in (1..).zip(&quanta) {
        assert!(quantum.data().iter().all(|&byte| byte == fill));
        assert_eq!(quantum.len(), 228);
    }
}

#[test]
fn growing_past_a_margin_changes_nothing() {
    let mut quantum = pool(1, 100).take().unwrap();
    quantum.set_len(100);
    assert!(quantum.prepend(65).is_none());
    assert!(quantum.append(65).is_none());
    assert_eq!((quantum.len(), quantum.data().len()), (100, 100));
    assert!(quantum.append(usize::MAX).is_none());
    assert!(quantum.prepend(64).is_some() && quantum.prepend(1).is_none());
}

#[test]
fn header_and_checksum_come_and_go_where_they_stand() {
    let mut quantum = pool(1, 8).take().unwrap();
    quantum.set_len(3);
    quantum.data_mut().copy_from_slice(b"abc");
    let address = quantum.data().as_ptr();
    quantum.prepend(2).unwrap().copy_from_slice(b"HH");
    quantum.append(1).unwrap().copy_from_slice(b"T");
    assert_eq!(quantum.data(), b"HHabcT");
    quantum.trim_front(2);
    quantum.trim_back(1);
    assert_eq!((quantum.data(), quantum.data().as_ptr()), (b"abc".as_slice(), address));
}

#[test]
fn trimming_all_leaves_nothing() {
    let mut quantum = pool(1, 8).take().unwrap();
    quantum.set_len(8);
    quantum.trim_front(8);
    assert!(quantum.is_empty());
    assert_eq!(quantum.append(64).map(|tail| tail.len()), Some(64));
}

#[test]
#[should_panic(expected = "9 bytes in a quantum with room for 8")]
fn length_beyond_the_capacity_panics() {
    pool(1, 8).take().unwrap().set_len(9);
}

#[test]
#[should_panic(expected = "3 bytes off 2")]
fn trimming_more_than_there_is_panics() {
    let mut quantum = pool(1, 8).take().unwrap();
    quantum.set_len(2);
    quantum.trim_front(3);
}

#[test]
fn quantum_taken_again_is_empty() {
    let pool = pool(1, 64);
    let mut quantum = pool.take().unwrap();
    quantum.set_len(64);
    quantum.trim_front(3);
    quantum.set_index(9);
    quantum.push_tag(Tag { index: 9, kind: TagKind::Start }).unwrap();
    drop(quantum);
    let quantum = pool.take().unwrap();
    assert_eq!((quantum.len(), quantum.index(), quantum.tags().len()), (0, 0, 0));
    assert_eq!(quantum.capacity(), 64);
}

#[test]
fn shared_quantum_returns_with_its_last_holder() {
    let pool = pool(1, 64);
    let mut quantum = pool.take().unwrap();
    quantum.set_len(8);
    quantum.data_mut().copy_from_slice(&[1, 0, 2, 0, 3, 0, 4, 0]);
    let holders = vec![quantum.share(); 3];
    let threads: Vec<_> = holders
        .into_iter()
        .map(|holder| {
            std::thread::spawn(move || {
                let samples = holder.as_slice::<Complex<i16>>().unwrap();
                assert_eq!(samples, &[Complex::new(1, 2), Complex::new(3, 4)]);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(pool.free(), 1);
    let taken = pool.take();
    assert!(taken.is_some() && pool.take().is_none());
}

#[test]
fn quantum_outlives_every_handle_of_its_pool() {
    let pool = pool(2, 64);
    let mut quantum = pool.take().unwrap();
    drop(pool);
    quantum.set_len(64);
    quantum.data_mut().fill(7);
    assert_eq!(quantum.data()[63], 7);
}

#[test]
fn quanta_that_cross_threads_keep_their_bytes() {
    let rounds: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let pool = pool(3, 64);
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Quantum>(2);
    let source = pool.clone();
    let filler = std::thread::spawn(move || {
        let mut index = 0;
        while index < rounds {
            let Some(mut quantum) = source.take() else { continue };
            quantum.set_index(index);
            quantum.set_len(64);
            quantum.as_mut_slice::<i32>().unwrap().fill(index as i32);
            sender.send(quantum).unwrap();
            index += 1;
        }
    });
    for index in 0..rounds {
        let quantum = receiver.recv().unwrap();
        assert_eq!(quantum.index(), index);
        assert!(quantum.as_slice::<i32>().unwrap().iter().all(|&word| word == index as i32));
    }
    filler.join().unwrap();
    assert_eq!(pool.free(), 3);
}
