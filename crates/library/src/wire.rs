//! Packets of many flows: [`Wire`]. Rule: what is told of a packet stands until the next one.

use crate::alert::{Alert, Verdict};
use crate::builder::Shared;
use crate::error::Error;
use lockgate_capture::{Enforcement, Engines, Frame, Passage, Reporting, Sniffer, Unbegun};
use lockgate_packet::{Delivery, LinkType, Settings, Time};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What is written at a time.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Packets being followed.
pub struct Wire {
    /// `None` behind its end.
    sniffer: Option<Sniffer<Lines>>,
    link: LinkType,
    link_number: u32,
    lines: Lines,
    events: Vec<u8>,
    alerts: Vec<Alert>,
}

impl Wire {
    /// Nothing has been seen yet.
    pub fn open(shared: &Shared, link_type: u32) -> Result<Self, Error> {
        let link = LinkType::from_number(link_type);
        let link = link.ok_or_else(|| {
            Error::new(format!("link type {link_type} is not known: 1 is Ethernet, 101 IP"))
        })?;
        let engines = Engines {
            generation: Arc::clone(&shared.generation),
            pools: shared.pools.clone(),
            rules: Some(Arc::clone(&shared.rules)),
            enforcement: Enforcement::Stopped,
            unbegun: Unbegun::Asked,
        };
        // Whoever may still drop a packet must know what it brings before it goes on.
        let settings = Settings { delivery: Delivery::Immediate, ..Settings::default() };
        let lines = Lines::default();
        let sniffer = Sniffer::new(settings, engines, lines.clone(), Reporting::default());
        let link_number = link_type;
        Ok(Self { sniffer: Some(sniffer), link, link_number, lines, events: Vec::new(), alerts: Vec::new() })
    }

    /// The next packet.
    pub fn packet(&mut self, micros: u64, bytes: &[u8]) -> Result<Verdict, Error> {
        let (link, link_number) = (self.link, self.link_number);
        let sniffer = self.sniffer.as_mut().ok_or_else(|| Error::new("the wire has ended"))?;
        let wire_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let frame = Frame { time: Time { micros }, link, link_number, bytes, wire_bytes, is_unsummed: false };
        let passage = sniffer.frame(&frame);
        let told = self.told();
        Ok(if passage == Passage::Closed { Verdict::Drop } else { told })
    }

    /// Nothing more comes.
    pub fn end(&mut self) -> Result<Verdict, Error> {
        let sniffer = self.sniffer.take().ok_or_else(|| Error::new("the wire has ended"))?;
        sniffer.end().map_err(|error| Error::new(error.to_string()))?;
        Ok(self.told())
    }

    /// What the last packet has led to, from 0.
    pub fn alert(&self, index: usize) -> Option<&Alert> {
        self.alerts.get(index)
    }

    /// The events of the last packet.
    pub fn events(&self) -> &[u8] {
        &self.events
    }

    fn told(&mut self) -> Verdict {
        self.events = self.lines.take();
        let lines =
            self.events.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        self.alerts = lines
            .filter(|line| line.contains("\"event_type\":\"alert\""))
            .filter_map(Alert::of_event)
            .collect();
        self.alerts.iter().map(|alert| alert.verdict).max().unwrap_or_default()
    }
}
