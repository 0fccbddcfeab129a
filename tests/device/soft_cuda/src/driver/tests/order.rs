//! The order in which work is done, and when.

use super::*;

#[test]
fn work_is_done_when_it_is_waited_for() {
    begin_on_device(Options::default());
    let (stream, at) = (stream(), allocate(4));
    let (source, target) = (page_locked(4), page_locked(4));
    assert_eq!(upload(at, source, 4, stream), 0);
    assert_eq!(download(target, at, 4, stream), 0);
    // SAFETY: the memory is this test's.
    unsafe { source.write_bytes(7, 4) };
    assert_eq!(byte(target), 0xFF);
    assert_eq!(cuStreamSynchronize(stream), 0);
    assert_eq!(byte(target), 7);
}

#[test]
fn eager_work_is_done_at_once() {
    begin_on_device(Options { eager: true, ..Options::default() });
    let (stream, at, target) = (stream(), allocate(4), page_locked(4));
    assert_eq!(cuMemsetD8Async(at, 3, 4, stream), 0);
    assert_eq!(download(target, at, 4, stream), 0);
    assert_eq!(byte(target), 3);
}

#[test]
fn fresh_memory_is_not_a_number() {
    begin_on_device(Options::default());
    let (stream, at) = (stream(), allocate(8));
    let mut number = 0_f64;
    assert_eq!(download(ptr::from_mut(&mut number).cast(), at, 8, stream), 0);
    assert_eq!(cuStreamSynchronize(stream), 0);
    assert!(number.is_nan());
}

#[test]
fn streams_run_beside_each_other() {
    begin_on_device(Options::default());
    let (one, other, at) = (stream(), stream(), allocate(1));
    let (first, second) = (page_locked(1), page_locked(1));
    assert_eq!(cuMemsetD8Async(at, 1, 1, one), 0);
    assert_eq!(download(first, at, 1, one), 0);
    assert_eq!(download(second, at, 1, other), 0);
    assert_eq!(cuStreamSynchronize(other), 0);
    assert_eq!((byte(first), byte(second)), (0xFF, 0xFF));
    assert_eq!(cuStreamSynchronize(one), 0);
    assert_eq!(byte(first), 1);
}

#[test]
fn a_stream_waits_for_the_mark_of_that_time() {
    begin_on_device(Options::default());
    let (one, other, mark, at) = (stream(), stream(), event(), allocate(1));
    let target = page_locked(1);
    assert_eq!(cuStreamWaitEvent(other, mark, 0), 0, "nothing to wait for");
    assert_eq!(cuMemsetD8Async(at, 1, 1, one), 0);
    assert_eq!(cuEventRecord(mark, one), 0);
    assert_eq!(cuStreamWaitEvent(other, mark, 0), 0);
    assert_eq!(cuMemsetD8Async(at, 2, 1, one), 0);
    assert_eq!(cuEventRecord(mark, one), 0);
    assert_eq!(download(target, at, 1, other), 0);
    assert_eq!(cuEventDestroy_v2(mark), 0, "the wait keeps its mark");
    assert_eq!(cuStreamSynchronize(other), 0);
    assert_eq!(byte(target), 1);
}

#[test]
fn streams_that_wait_for_each_other_end() {
    begin_on_device(Options::default());
    let (streams, marks) = ([stream(), stream()], [event(), event()]);
    let (at, target) = (allocate(1), page_locked(1));
    for round in 0..50 {
        assert_eq!(cuMemsetD8Async(at, round, 1, streams[usize::from(round) % 2]), 0);
        for i in 0..2 {
            assert_eq!(cuEventRecord(marks[i], streams[i]), 0);
        }
        for i in 0..2 {
            assert_eq!(cuStreamWaitEvent(streams[i], marks[1 - i], 0), 0);
        }
    }
    assert_eq!(download(target, at, 1, streams[0]), 0);
    assert_eq!(cuStreamSynchronize(streams[0]), 0);
    assert_eq!(byte(target), 49);
}

#[test]
fn an_event_waits_for_its_mark_and_no_more() {
    begin_on_device(Options::default());
    let (stream, mark, at) = (stream(), event(), allocate(1));
    let (before, after) = (page_locked(1), page_locked(1));
    assert_eq!(cuEventSynchronize(mark), 0);
    assert_eq!(cuMemsetD8Async(at, 1, 1, stream), 0);
    assert_eq!(download(before, at, 1, stream), 0);
    assert_eq!(cuEventRecord(mark, stream), 0);
    assert_eq!(download(after, at, 1, stream), 0);
    assert_eq!(cuEventSynchronize(mark), 0);
    assert_eq!((byte(before), byte(after)), (1, 0xFF));
}

#[test]
fn work_outlives_its_stream() {
    begin_on_device(Options::default());
    let (stream, mark, at, target) = (stream(), event(), allocate(1), page_locked(1));
    assert_eq!(cuMemsetD8Async(at, 1, 1, stream), 0);
    assert_eq!(download(target, at, 1, stream), 0);
    assert_eq!(cuEventRecord(mark, stream), 0);
    assert_eq!(cuStreamDestroy_v2(stream), 0);
    assert_eq!(byte(target), 0xFF);
    assert_eq!(cuEventSynchronize(mark), 0);
    assert_eq!(byte(target), 1);
    assert!(with_driver(|driver| driver.streams.is_empty()));
}

#[test]
fn freeing_waits_for_all_work() {
    begin_on_device(Options::default());
    let (stream, at, spare, target) = (stream(), allocate(1), allocate(1), page_locked(1));
    assert_eq!(cuMemsetD8Async(at, 1, 1, stream), 0);
    assert_eq!(download(target, at, 1, stream), 0);
    assert_eq!(cuMemFree_v2(spare), 0);
    assert_eq!(byte(target), 1);
}
