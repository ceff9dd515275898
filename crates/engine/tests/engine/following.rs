//! Whoever follows misses nothing, or is told that it did.

use offshoot_api::views::BodyView;
use offshoot_api::{ErrorCode, Event, EventStream, Request, Response, Service, request};
use offshoot_engine::Settings;

use crate::scripted::ScriptedAgent;
use crate::world::{World, caller, next_event};

async fn follow(world: &World, after: u64) -> Result<EventStream, ErrorCode> {
    world.engine.follow(&caller(), "s", after).await.map_err(|error| error.code)
}

async fn take(events: &mut EventStream, count: usize) -> Vec<Event> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(next_event(events).await.unwrap().unwrap());
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
    // That of each turn how full the context is was told too is not in the log.
    let count = world.log.len() + 3;
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
    assert_eq!(next_event(&mut slow).await.unwrap().unwrap_err().code, ErrorCode::Gone);
    assert!(next_event(&mut slow).await.is_none());
}

/// Who has missed something asks for its own turn, wherever the head is by then.
#[tokio::test(start_paused = true)]
async fn a_turn_is_seen_by_itself_wherever_the_head_is_and_undone_too() {
    let mut world = World::new(ScriptedAgent::new()).await;
    let mut turns = Vec::new();
    for words in ["one", "two", "three"] {
        let Response::Changed(sent) = world.send(words).await.unwrap() else { panic!("it is not sent") };
        turns.push(sent.turn.unwrap());
        world.until_ready().await;
    }
    let seen = async |turn: &str| {
        let (session, turn) = ("s".to_owned(), Some(turn.to_owned()));
        let open = request::Open { session, turns: None, turn, at: None };
        let Response::Session(view) = world.call(Request::Open(open)).await.unwrap() else {
            panic!("it is not open")
        };
        let texts = view.branch.entries.iter().map(|entry| match &entry.body {
            BodyView::Prompt(prompt) => prompt.text.clone(),
            BodyView::Reply { blocks, .. } => format!("{} block", blocks.len()),
            other => panic!("{other:?}"),
        });
        texts.collect::<Vec<String>>()
    };
    assert_eq!(seen(&turns[1]).await, ["two", "1 block"]);
    for _ in 0..2 {
        let undo = request::History { session: "s".into(), ..Default::default() };
        world.call(Request::Undo(undo)).await.unwrap();
    }
    assert_eq!(seen(&turns[1]).await, ["two", "1 block"]);
    assert_eq!(seen("unknown").await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn closing_is_the_last_thing_that_is_told() {
    let world = World::new(ScriptedAgent::new()).await;
    let mut events = follow(&world, 0).await.unwrap();
    world.engine.close("s").await;
    let closed = take(&mut events, 1).await;
    assert_eq!(closed[0].kind, offshoot_api::EventKind::Closed);
    assert!(next_event(&mut events).await.is_none());
    // And the session can be opened again.
    assert_eq!(world.view().await.id, "s");
}
