//! What an operator is told, and when the job waits for it.

use vufleet_proto::v1::{Finished, Live, Output};

use super::*;

/// Bytes of a piece of a file.
const PIECE: usize = 65_536;

fn message(code: u32) -> Progress {
    Progress { body: Some(Body::Finished(Finished { exit_code: code, message: String::new() })) }
}

fn line(level: Level, bytes: usize) -> Progress {
    Progress { body: Some(Body::Line(Line { level: level as i32, text: "x".repeat(bytes) })) }
}

fn live(run: u32) -> Progress {
    Progress { body: Some(Body::Live(Live { run, ..Default::default() })) }
}

fn piece(number: usize) -> Progress {
    Progress { body: Some(Body::Output(Output { name: number.to_string(), data: vec![0; PIECE].into() })) }
}

fn code(progress: Option<Result<Progress, Status>>) -> Result<u32, Status> {
    match progress.expect("something is told")?.body {
        Some(Body::Finished(finished)) => Ok(finished.exit_code),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn everything_arrives_in_order_and_then_the_end() {
    let (progress, mut followed) = relay();
    let sender = tokio::spawn(async move {
        for n in 0..1_000 {
            assert!(progress.send(message(n)).await);
        }
    });
    for n in 0..1_000 {
        assert_eq!(code(followed.recv().await).unwrap(), n);
    }
    assert!(followed.recv().await.is_none());
    sender.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_does_not_wait_for_who_takes_nothing() {
    let (progress, mut followed) = relay();
    let begun = Instant::now();
    for n in 0..10_000 {
        assert!(progress.send(message(n)).await);
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    progress.messages.closed().await;
    assert!((PATIENCE..PATIENCE * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    for n in 0..ON_THE_WAY as u32 - 1 {
        assert_eq!(code(followed.recv().await).unwrap(), n);
    }
    let why = code(followed.recv().await).unwrap_err();
    assert!(why.message().contains("the job goes on"), "{why}");
    assert!(followed.recv().await.is_none());
}

/// Notes to who takes nothing are left out and counted, and results are not.
#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded_and_a_gap_is_told() {
    let (progress, mut followed) = relay();
    let begun = Instant::now();
    for _ in 0..3 * NOTES / 1_000 {
        assert!(progress.send(line(Level::Note, 1_000)).await);
    }
    assert!(progress.send(line(Level::Info, 1_000)).await);
    assert!(progress.send(message(7)).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    drop(progress);
    tokio::time::sleep(PATIENCE / 2).await;
    let (mut notes, mut results, mut gaps) = (0, 0, 0);
    while let Some(Ok(Progress { body: Some(body) })) = followed.recv().await {
        match body {
            Body::Line(line) if line.text.contains("left out here") => {
                let told: usize = line.text.split(' ').next().unwrap().parse().unwrap();
                assert_eq!(told + notes, 3 * NOTES / 1_000);
                gaps += 1;
            }
            Body::Line(line) if line.level() == Level::Note => notes += 1,
            Body::Line(_) => results += 1,
            other => assert!(matches!(other, Body::Finished(_)) && results == 1, "{other:?}"),
        }
    }
    assert!(notes * 1_000 < NOTES + (3 * ON_THE_WAY) * 1_000, "{notes}");
    assert_eq!((results, gaps), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn of_live_figures_the_latest_waits() {
    let (progress, mut followed) = relay();
    for n in 0..1_000 {
        assert!(progress.send(live(n)).await);
    }
    assert!(progress.send(line(Level::Info, 1)).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut told, mut last) = (0, 0);
    while let Ok(Some(Ok(progress))) = tokio::time::timeout(PATIENCE, followed.recv()).await {
        told += 1;
        if let Some(Body::Live(live)) = progress.body {
            last = live.run;
        }
    }
    assert!(told < 2 * ON_THE_WAY, "{told}");
    assert_eq!(last, 999);
}

/// 96 MiB at 64 KiB in 10 s: more than ever waits, and it all arrives, in order, while notes go by it.
#[tokio::test(start_paused = true)]
async fn who_is_slow_and_steady_gets_every_file() {
    let pieces = 12 * FILES / PIECE;
    let (progress, mut followed) = relay();
    let notes = progress.clone();
    let sender = tokio::spawn(async move {
        let mut most = 0;
        for n in 0..pieces {
            assert!(progress.send_piece(piece(n)).await, "piece {n} is taken");
            most = most.max(FILES - progress.room.available_permits());
        }
        most
    });
    let (mut taken, mut noted) = (0, 0);
    while taken < pieces {
        tokio::time::sleep(Duration::from_secs(10)).await;
        if taken % 100 == 0 {
            let now = Instant::now();
            assert!(notes.send(line(Level::Note, 10)).await);
            assert_eq!(now.elapsed(), Duration::ZERO, "the job does not wait");
        }
        match followed.recv().await.expect("it is told on").expect("it is not cut off").body {
            Some(Body::Output(output)) => {
                assert_eq!(output.name, taken.to_string());
                taken += 1;
            }
            Some(Body::Line(_)) => noted += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(noted > 0);
    assert!(sender.await.unwrap() <= FILES);
}

#[tokio::test(start_paused = true)]
async fn files_wait_for_who_takes_nothing_no_longer_than_patience() {
    let (progress, _followed) = relay();
    let begun = Instant::now();
    let mut sent = 0;
    while progress.send_piece(piece(sent)).await {
        sent += 1;
    }
    assert!((PATIENCE..PATIENCE * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert!(sent <= FILES / PIECE + 3 * ON_THE_WAY, "{sent}");
}

#[tokio::test]
async fn a_thread_that_waits_for_room_is_told_of_the_end() {
    let (progress, followed) = relay();
    let sender = tokio::task::spawn_blocking(move || (0..).find(|n| !progress.send_piece_from_thread(piece(*n))));
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(followed);
    assert!(sender.await.unwrap().is_some_and(|sent| sent > 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_silent_for_long_is_followed_on() {
    let (progress, mut followed) = relay();
    tokio::time::sleep(PATIENCE * 3).await;
    assert!(progress.send(message(7)).await);
    tokio::time::sleep(PATIENCE / 2).await;
    assert_eq!(code(followed.recv().await).unwrap(), 7);
    tokio::time::sleep(PATIENCE * 3).await;
    assert!(!progress.messages.is_closed());
}
