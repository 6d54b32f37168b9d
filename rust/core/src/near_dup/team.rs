//! Threads that share one piece of work, and the caller who is told how far it is and may end it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// How often the caller is told.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long the calling thread, out of work, waits at a time for the others.
const WAIT: Duration = Duration::from_millis(20);

/// Steps between two questions: about a millisecond.
const PACE: usize = 1 << 18;

/// More threads than this are never started, whatever is asked for.
const MOST_THREADS: usize = 256;

/// What the caller gave to be told with: done so far and all there is; it may break to end the work.
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// The caller's end: calls back, from the calling thread alone.
pub struct Watch<'a> {
    progress: &'a mut Progress<'a>,
    told: Option<Instant>,
    done: u64,
    total: u64,
}

impl<'a> Watch<'a> {
    /// Tells of `total` units of work.
    pub fn new(total: u64, progress: &'a mut Progress<'a>) -> Self {
        Self { progress, told: None, done: 0, total }
    }

    /// Tells the caller, unless it was told a moment ago, that nothing more is done. False means that it wants an end.
    pub fn look(&mut self) -> bool {
        self.tell(0, 0)
    }

    /// The same, when `done` of `all` are done of the work that `total` stands for.
    fn tell(&mut self, done: u64, all: u64) -> bool {
        if self.told.is_some_and(|told| told.elapsed() < INTERVAL) {
            return true;
        }
        if all > 0 {
            let part = u128::from(self.total) * u128::from(done.min(all)) / u128::from(all);
            self.done = self.done.max(u64::try_from(part).unwrap_or(self.total));
        }
        self.told = Some(Instant::now());
        (self.progress)(self.done, self.total).is_continue()
    }

    /// Tells that all is done.
    pub fn finish(&mut self) -> bool {
        (self.progress)(self.total, self.total).is_continue()
    }
}

/// Asks now and then whether to go on, where one thread does all the work.
pub struct Pace<Ask> {
    ask: Ask,
    done: usize,
}

impl<Ask: FnMut() -> bool> Pace<Ask> {
    /// With the question to ask.
    pub fn new(ask: Ask) -> Self {
        Self { ask, done: 0 }
    }

    /// Adds some steps to those done, of a few nanoseconds each. False when the answer was no.
    pub fn go_on(&mut self, steps: usize) -> bool {
        self.done += steps + 1;
        if self.done < PACE {
            return true;
        }
        self.done = 0;
        (self.ask)()
    }
}

/// What the threads of one piece of work share.
struct Board {
    stop: AtomicBool,
    done: AtomicU64,
    all: u64,
}

/// One thread's end: what it calls now and then.
pub struct Pulse<'board, 'watch, 'progress> {
    board: &'board Board,
    watch: Option<&'watch mut Watch<'progress>>,
}

impl Pulse<'_, '_, '_> {
    /// Adds what was done since the last call. False means: stop, the result is not wanted.
    pub fn beat(&mut self, done: u64) -> bool {
        let before = self.board.done.fetch_add(done, Ordering::Relaxed);
        if let Some(watch) = &mut self.watch
            && !watch.tell(before.saturating_add(done), self.board.all)
        {
            self.board.stop.store(true, Ordering::Relaxed);
        }
        !self.board.stop.load(Ordering::Relaxed)
    }
}

/// Counts down when its thread ends, also by a panic, and wakes the one that waits.
struct Leaving<'a>(&'a AtomicUsize, &'a std::thread::Thread);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
        self.1.unpark();
    }
}

/// How many threads are meant: 0 means one for every processor.
pub fn wanted(threads: usize) -> usize {
    let threads = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
    threads.min(MOST_THREADS)
}

/// Runs `work` on `threads` threads, the calling one among them, and returns when all are through. They find out among
/// themselves who does what; `all` is the sum of what they will tell. False when the caller wanted an end.
pub fn run(threads: usize, all: u64, watch: &mut Watch<'_>, work: &(impl Fn(&mut Pulse<'_, '_, '_>) + Sync)) -> bool {
    let board = Board { stop: AtomicBool::new(false), done: AtomicU64::new(0), all };
    let running = AtomicUsize::new(0);
    let caller = std::thread::current();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            running.fetch_add(1, Ordering::Relaxed);
            let leaving = Leaving(&running, &caller);
            let board = &board;
            // Where no further thread can be had, those there are do all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _leaving = leaving;
                work(&mut Pulse { board, watch: None });
            });
        }
        let mut pulse = Pulse { board: &board, watch: Some(watch) };
        if pulse.beat(0) {
            work(&mut pulse);
        }
        while running.load(Ordering::Acquire) > 0 {
            pulse.beat(0);
            std::thread::park_timeout(WAIT);
        }
    });
    !board.stop.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_and_told_from_the_calling_thread() {
        let caller = std::thread::current().id();
        let mut told = Vec::new();
        let next = AtomicU64::new(0);
        let mut progress = |done, total| {
            assert_eq!(std::thread::current().id(), caller);
            told.push((done, total));
            ControlFlow::Continue(())
        };
        let mut watch = Watch::new(10, &mut progress);
        let sound = run(4, 300, &mut watch, &|pulse| {
            while next.fetch_add(1, Ordering::Relaxed) < 300 {
                std::thread::sleep(Duration::from_millis(2));
                assert!(pulse.beat(1));
            }
        });
        assert!(sound && watch.finish());
        assert!(
            told.len() >= 3 && told.is_sorted() && told[0] == (0, 10) && told.last() == Some(&(10, 10)),
            "{told:?}"
        );
    }

    #[test]
    fn a_caller_who_wants_an_end_ends_all_threads() {
        let mut calls = 0;
        let mut progress = |_, _| {
            calls += 1;
            if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let start = Instant::now();
        let sound = run(3, u64::MAX, &mut Watch::new(1, &mut progress), &|pulse| while pulse.beat(1) {});
        assert!(!sound && start.elapsed() < Duration::from_secs(2));
    }
}
