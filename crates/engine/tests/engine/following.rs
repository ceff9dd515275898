//! Whoever follows misses nothing, or is told that it did.

use futures_util::StreamExt;
use offshoot_api::{ErrorCode, Event, EventStream, Service};
use offshoot_engine::Settings;

use crate::scripted::ScriptedAgent;
use crate::world::{World, caller};

async fn follow(world: &World, after: u64) -> Result<EventStream, ErrorCode> {
    world.engine.follow(&caller(), "s", after).await.map_err(|error| error.code)
}

async fn take(events: &mut EventStream, count: usize) -> Vec<Event> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(events.next().await.unwrap().unwrap());
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_is_told_what_happened_meanwhile() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for words in ["one", "two", "three"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    let count = world.log.len();
    let all = take(&mut follow(&world, 0).await.unwrap(), count).await;
    let numbers: Vec<u64> = all.iter().map(|event| event.seq).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gaps: {numbers:?}");
    assert_eq!(world.view().await.seq, *numbers.last().unwrap());
    for (at, event) in all.iter().enumerate() {
        let rest = take(&mut follow(&world, event.seq).await.unwrap(), count - at - 1).await;
        assert_eq!(rest, all[at + 1..]);
    }
}

#[tokio::test(start_paused = true)]
async fn who_was_away_too_long_is_told_so() {
    let settings = Settings { kept_events: 5, ..Settings::default() };
    let world = World::set(ScriptedAgent::new(), settings).await;
    let start = world.view().await.seq;
    let mut slow = follow(&world, start).await.unwrap();
    world.send("one").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(follow(&world, start).await.err(), Some(ErrorCode::Gone));
    let now = world.view().await.seq;
    assert!(follow(&world, now).await.is_ok());
    assert_eq!(follow(&world, now + 1).await.err(), Some(ErrorCode::Gone), "of another engine");
    // It was let go in the middle, and hears of it after what it did get.
    take(&mut slow, 5).await;
    assert_eq!(slow.next().await.unwrap().unwrap_err().code, ErrorCode::Gone);
    assert!(slow.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn closing_is_the_last_thing_that_is_told() {
    let world = World::new(ScriptedAgent::new()).await;
    let mut events = follow(&world, 0).await.unwrap();
    world.engine.close("s").await;
    let closed = take(&mut events, 1).await;
    assert_eq!(closed[0].kind, offshoot_api::EventKind::Closed);
    assert!(events.next().await.is_none());
    // And the session can be opened again.
    assert_eq!(world.view().await.id, "s");
}
