//! What the agent does and does not do, with a scripted model and with faults. No key, no network.

use checkrein::approvals::Word;
use checkrein::contract::{Code, ProviderFault, Status};
use checkrein::serde_json::json;
use checkrein::{Front, ResumeOptions};
use checkrein_testkit::{Faults, Lab, Record, Scripted, assert_never_called};
use embed::{Book, agent};

fn book() -> Book {
    let book = Book::default();
    book.write("b-1", "Ada", 12);
    book.write("b-2", "Grace", 2);
    book
}

fn cancels(booking: &str, days_before: u32) -> Scripted {
    Scripted::new()
        .calls("find_booking", json!({ "booking": booking }))
        .calls("cancel_booking", json!({ "booking": booking, "days_before": days_before }))
        .says("It is settled.")
}

#[tokio::test]
async fn an_early_cancellation_goes_through() {
    let (lab, book, model) = (Lab::new(), book(), cancels("b-1", 12));
    let harness = agent(lab.harness(), &book).provider(model.clone()).build().unwrap();
    let outcome = harness.run("Please cancel b-1.").await.unwrap();
    assert_eq!((outcome.status, book.find("b-1")), (Status::Completed, None));
    assert_eq!(Record::of(&harness, &outcome.session).calls_of("cancel_booking")[0].rules, ["early-cancellation"]);
    let read = checkrein::serde_json::to_string(&model.requests()[1]).unwrap();
    assert!(read.contains("Ada"), "the model sees what was found");
}

#[tokio::test]
async fn a_late_one_waits_for_a_person() {
    let (lab, book, model) = (Lab::new(), book(), cancels("b-2", 2));
    let harness = agent(lab.harness(), &book).provider(model).build().unwrap();
    let asked = harness.run("Please cancel b-2.").await.unwrap();
    assert_eq!(asked.status, Status::NeedsApproval);
    assert_never_called!(Record::of(&harness, &asked.session), "cancel_booking");
    assert!(book.find("b-2").is_some());

    harness.answer(&asked.approvals[0], "lee", &Word::Approve { for_ms: None }).unwrap();
    let mut session = harness.resume(&asked.session, &ResumeOptions::default(), Front::default()).unwrap();
    assert_eq!((session.drive().await.unwrap().status, book.find("b-2")), (Status::Completed, None));
}

#[tokio::test]
async fn a_model_that_lies_about_the_days_changes_nothing() {
    let (lab, book, model) = (Lab::new(), book(), cancels("b-2", 30));
    let harness = agent(lab.harness(), &book).provider(model).build().unwrap();
    let outcome = harness.run("Please cancel b-2.").await.unwrap();
    assert_eq!(Record::of(&harness, &outcome.session).calls_of("cancel_booking")[0].code, Some(Code::ToolFailed));
    assert!(book.find("b-2").is_some());
}

#[tokio::test]
async fn an_overloaded_model_is_asked_again() {
    let (lab, book, model) = (Lab::new(), book(), cancels("b-1", 12));
    let mut harness = agent(lab.harness(), &book).provider(model).build().unwrap();
    let faults = Faults::new().request(2, ProviderFault::Server).arm(&mut harness);
    assert_eq!(harness.run("Please cancel b-1.").await.unwrap().status, Status::Completed);
    assert!(faults.all_met());
}

#[tokio::test]
async fn whichever_write_fails_nothing_is_cancelled_off_the_record() {
    for write in 1.. {
        let (lab, book, model) = (Lab::new(), book(), cancels("b-1", 12));
        let mut harness = agent(lab.harness(), &book).provider(model).build().unwrap();
        let faults = Faults::new().write(write).arm(&mut harness);
        let ended = harness.run("Please cancel b-1.").await;
        for row in harness.store.sessions().unwrap() {
            let cancelled = Record::of(&harness, &row.id).calls_of("cancel_booking").iter().any(|call| call.started);
            assert!(cancelled || book.find("b-1").is_some());
        }
        if !faults.all_met() {
            assert!(ended.is_ok());
            break;
        }
    }
}
