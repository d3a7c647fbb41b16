//! What goes wrong. Rule: nothing acknowledged is lost, nothing arrives twice that need not, and the client is told what to do.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::sink::{Behaviour, Chunking, Fault, Sink, Stage};
use lockgate_tests::smtp::{Client, Reply, dot_stuffed};
use lockgate_tests::temporary::Directory;
use lockgate_tests::{mail, process, wait};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";
const IMPATIENT: &str = "relay_domains = [\"example.org\"]\nclient_address = \"none\"\nconnect_timeout = \"2 s\"\n\
                         greeting_timeout = \"1 s\"\nreply_timeout = \"1 s\"\ndata_initiation_timeout = \"1 s\"\n\
                         data_block_timeout = \"2 s\"\ndata_termination_timeout = \"1 s\"\ncommand_timeout = \"2 s\"";

/// Short ones are held, long ones stream.
fn mails() -> [Vec<u8>; 2] {
    [mail::plain("short", "hello"), mail::with_attachment("long", "noise.bin", &mail::noise(9, 600_000))]
}

fn before(sink: &Sink) -> Gateway {
    Gateway::smtp(&sink.address.to_string(), IMPATIENT, "")
}

/// One mail in a session of its own; the reply that decided it.
fn attempt(gateway: &Gateway, content: &[u8]) -> Reply {
    let mut client = Client::connect(gateway.address);
    let greeting = client.reply();
    if greeting.code != 220 {
        return greeting;
    }
    let hello = client.command("EHLO client.example.org");
    if hello.code != 250 {
        return hello;
    }
    client.mail(ANN, &[BOB], content)
}

#[test]
fn the_next_hop_dies_or_stalls_in_every_state() {
    for chunking in [Chunking::Offered, Chunking::Withheld] {
        let sink = Sink::start(Behaviour { chunking, ..Behaviour::default() });
        let mut gateway = before(&sink);
        // The capabilities are asked once; from here on each fault meets the session that it is meant for.
        assert_eq!(attempt(&gateway, &mails()[0]).code, 250);
        for content in mails() {
            const NOT_NOW: Fault = Fault::Reply("451 4.3.0 not now");
            for fault in [Fault::Close, Fault::Silence, Fault::Reply("421 4.3.2 going down"), NOT_NOW] {
                for stage in Stage::ALL {
                    if fault == NOT_NOW && stage == Stage::Content && chunking == Chunking::Withheld {
                        // Nothing is said while content comes.
                        continue;
                    }
                    let what = format!("{chunking:?}, {} bytes, {fault:?} at {stage:?}", content.len());
                    let (before, faults) = (sink.taken().len(), sink.faults());
                    sink.behave(Behaviour {
                        chunking,
                        fault: Some((stage, fault.clone())),
                        ..Behaviour::default()
                    });
                    let reply = attempt(&gateway, &content);
                    if sink.faults() == faults {
                        // With CHUNKING there is no DATA, and what is held may go in one piece.
                        let is_chunked = chunking == Chunking::Offered;
                        assert!(
                            is_chunked && matches!(stage, Stage::Data | Stage::Content),
                            "not met: {what}"
                        );
                        assert_eq!(reply.code, 250, "{what}");
                        continue;
                    }
                    assert!((400..500).contains(&reply.code), "try again: {what}: {reply:?}");
                    let is_taken = sink.taken().len() > before;
                    // Between the next hop's acceptance and the client's receipt of the reply, and nowhere else.
                    assert!(!is_taken || stage == Stage::Accepted, "it was taken: {what}");
                }
            }
        }
        sink.behave(Behaviour { chunking, ..Behaviour::default() });
        let before = sink.taken().len();
        for content in mails() {
            assert_eq!(attempt(&gateway, &content).code, 250);
        }
        assert_eq!(sink.taken().len(), before + 2);
        assert!(gateway.process().is_alive());
    }
}

#[test]
fn a_next_hop_that_is_not_there_is_said_so() {
    let nobody = wait::free_address();
    let gateway = Gateway::smtp(&nobody.to_string(), IMPATIENT, "");
    let reply = attempt(&gateway, &mails()[0]);
    assert!([421, 451].contains(&reply.code), "{reply:?}");
}

#[test]
fn the_client_dies_in_every_state() {
    for chunking in [Chunking::Offered, Chunking::Withheld] {
        let sink = Sink::start(Behaviour { chunking, ..Behaviour::default() });
        let mut gateway = before(&sink);
        for content in mails() {
            let wire = dot_stuffed(&content);
            let end = wire.len() - 5;
            let steps: [&[u8]; 8] = [
                b"EHLO client.example.org\r\n",
                b"MAIL FROM:<ann@example.org>\r\n",
                b"RCPT TO:<bob@example.org>\r\n",
                b"DATA\r\n",
                &wire[..end / 2],
                &wire[end / 2..end],
                &wire[end..end + 3],
                &wire[end + 3..end + 4],
            ];
            for last in 0..=steps.len() {
                let mut client = Client::connect(gateway.address);
                client.reply();
                for (index, step) in steps[..last].iter().enumerate() {
                    client.send(step);
                    if index < 4 {
                        client.reply();
                    }
                }
                client.vanish();
                wait::until(&format!("{chunking:?}: the next hop is let go after step {last}"), || {
                    (sink.open_connections() == 0).then_some(())
                });
                assert_eq!(sink.taken().len(), 0, "{chunking:?}: half a mail was taken after step {last}");
            }
        }
        assert_eq!(attempt(&gateway, &mails()[0]).code, 250);
        assert!(gateway.process().is_alive());
    }
}

#[test]
fn a_client_that_dies_after_the_end_of_data_has_sent_its_mail() {
    let sink = Sink::start(Behaviour::default());
    let gateway = before(&sink);
    let content = &mails()[0];
    let mut client = Client::greeted(gateway.address);
    assert_eq!(client.envelope(ANN, &[BOB]).code, 354);
    client.send(&dot_stuffed(content));
    lockgate_tests::unread::until_read(client.stream());
    client.vanish();
    // Taken once or not at all: the client does not know, and will send it again.
    wait::until("the next hop is let go", || (sink.open_connections() == 0).then_some(()));
    assert!(sink.taken().len() <= 1);
}

#[test]
fn slow_clients_are_let_go_and_hold_up_nobody() {
    let sink = Sink::start(Behaviour::default());
    let gateway = before(&sink);
    let mut slow: Vec<Client> = (0..50).map(|_| Client::connect(gateway.address)).collect();
    let started = Instant::now();
    let mut are_open = true;
    while are_open && started.elapsed() < wait::PATIENCE {
        for client in &mut slow {
            client.send(b"X");
        }
        let good = Instant::now();
        assert_eq!(attempt(&gateway, &mails()[0]).code, 250);
        assert!(good.elapsed() < Duration::from_secs(1), "a good client waited {:?}", good.elapsed());
        are_open = started.elapsed() < Duration::from_secs(4);
    }
    for client in &mut slow {
        // A byte now and then is no command: its time is that of the whole line.
        let replies = client.until_closed();
        assert_eq!(replies.last().map(|reply| reply.code), Some(421), "{replies:?}");
    }
}

#[test]
fn a_thousand_connections_over_the_limit() {
    let sections = "[gateway]\nconnections_max = 50";
    let mut gateway = Gateway::with_maildir("connections_per_client_max = 100000", sections);
    let mut within: Vec<Client> = Vec::new();
    // The probe that saw it listening may still count for a moment.
    wait::until("50 connections are served", || {
        let mut client = Client::connect(gateway.address);
        if client.try_reply().is_ok_and(|reply| reply.code == 220) {
            within.push(client);
        }
        (within.len() == 50).then_some(())
    });
    let over: Vec<Client> = (0..1000).map(|_| Client::connect(gateway.address)).collect();
    for mut client in over {
        let replies = client.until_closed();
        assert_eq!(replies.iter().map(|reply| reply.code).collect::<Vec<_>>(), [421]);
    }
    for client in &mut within {
        assert_eq!(client.command("EHLO client.example.org").code, 250);
    }
    assert_eq!(within[0].mail(ANN, &[BOB], &mail::plain("within", "hello")).code, 250);
    drop(within);
    wait::until("a place is free again", || {
        Client::connect(gateway.address).try_reply().ok().filter(|reply| reply.code == 220)
    });
    assert!(gateway.process().is_alive());
}

#[test]
fn more_than_the_next_hop_takes_is_told_to_come_again() {
    let sink = Sink::start(Behaviour::default());
    let gateway = Gateway::smtp(
        &sink.address.to_string(),
        &format!("{IMPATIENT}\nnext_hop_connections_max = 2").replace("command_timeout = \"2 s\"", ""),
        "",
    );
    let mut clients: Vec<Client> = (0..3).map(|_| Client::greeted(gateway.address)).collect();
    let codes: Vec<u16> =
        clients.iter_mut().map(|client| client.command(&format!("MAIL FROM:<{ANN}>")).code).collect();
    assert_eq!(codes, [250, 250, 421]);
    assert_eq!(sink.open_connections(), 2);
}

#[test]
fn the_disk_is_full_under_the_maildir() {
    let disk = Directory::new("disk");
    let path = disk.path().display().to_string();
    process::run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "tmpfs", &path]));
    let unmount = Unmount(path.clone());
    let mut gateway = Gateway::smtp(&format!("maildir:{path}/maildir"), "trace_header = false", "");
    let small = mail::plain("small", "hello");
    assert_eq!(attempt(&gateway, &small).code, 250);
    // One that is held, one that streams.
    for size in [150_000, 900_000] {
        disk.write("filler", vec![0; 400 << 10]);
        let reply = attempt(&gateway, &mail::with_attachment("big", "noise.bin", &mail::noise(3, size)));
        assert!([451, 452].contains(&reply.code), "{reply:?}");
        assert_eq!(lockgate_tests::temporary::delivered(&disk.join("maildir")), std::slice::from_ref(&small));
        let left = std::fs::read_dir(disk.join("maildir/tmp")).expect("a maildir").count();
        assert_eq!(left, 0, "nothing half-written is left");
        std::fs::remove_file(disk.join("filler")).expect("it is there");
    }
    assert_eq!(attempt(&gateway, &small).code, 250);
    assert_eq!(lockgate_tests::temporary::delivered(&disk.join("maildir")).len(), 2);
    assert!(gateway.process().is_alive());
    drop(gateway);
    drop(unmount);
}

struct Unmount(String);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn what_comes_in_no_protocol_ends_without_harm() {
    let mut gateway = Gateway::with_maildir("", "");
    for bytes in
        [vec![0; 100_000], vec![b'A'; 3_000_000], mail::noise(6, 500_000), b"GET / HTTP/1.1\r\n\r\n".to_vec()]
    {
        let mut client = Client::connect(gateway.address);
        client.send(&bytes);
        let _ = TcpStream::shutdown(client.stream(), std::net::Shutdown::Write);
        let _ = client.until_closed();
    }
    assert_eq!(attempt(&gateway, &mails()[0]).code, 250);
    assert!(gateway.process().is_alive());
}
