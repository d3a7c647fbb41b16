//! Several sets of lists, for several groups of people: [`Grouped`]. Rule: the transaction's group chooses, once, when it
//! opens.

use crate::database::Database;
use lockgate_model::{
    BufferSet, Database as Engines, Engine, Flow, FlowState, Rewriter, Scanner, Transaction,
};
use std::collections::HashMap;
use std::sync::Arc;

/// One database for each set of lists, and who is judged by which.
pub struct Grouped {
    /// The first is for every group that has none of its own.
    databases: Vec<Arc<Database>>,
    /// Where each of them stands, by its place in memory.
    places: HashMap<usize, usize>,
    of_group: HashMap<String, usize>,
}

impl Grouped {
    /// One set of lists for everybody.
    pub fn new(for_everybody: Arc<Database>) -> Self {
        let places = HashMap::from([(memory_of(&for_everybody), 0)]);
        Self { databases: vec![for_everybody], places, of_group: HashMap::new() }
    }

    /// Another one for a group. Groups with the same lists share the database.
    #[must_use]
    pub fn with(mut self, group: &str, database: Arc<Database>) -> Self {
        let at = *self.places.entry(memory_of(&database)).or_insert_with(|| {
            self.databases.push(database);
            self.databases.len() - 1
        });
        self.of_group.insert(group.to_owned(), at);
        self
    }

    /// The lists that hold for a group.
    pub fn of(&self, group: &str) -> &Arc<Database> {
        &self.databases[self.place_of(group)]
    }

    fn place_of(&self, group: &str) -> usize {
        self.of_group.get(group).copied().unwrap_or(0)
    }
}

fn memory_of(database: &Arc<Database>) -> usize {
    Arc::as_ptr(database).addr()
}

impl Engines for Grouped {
    fn engine(&self) -> Engine {
        Engine::Webfilter
    }

    fn wants(&self) -> BufferSet {
        self.databases.iter().fold(BufferSet::EMPTY, |all, database| all.and(database.wants()))
    }

    fn rewriter(&self, group: &str) -> Option<Arc<dyn Rewriter>> {
        let database = self.of(group);
        database.rewrites_anything().then(|| Arc::clone(database) as Arc<dyn Rewriter>)
    }

    fn open_flow(self: Arc<Self>, flow: &Flow) -> Box<dyn FlowState> {
        Box::new(Connection { flow: flow.clone(), state: None, grouped: self })
    }
}

/// One connection. Nearly always all its transactions are one group's, so that only that one's state is kept.
struct Connection {
    grouped: Arc<Grouped>,
    flow: Flow,
    /// Of the group that was last, by the place of its lists.
    state: Option<(usize, Box<dyn FlowState>)>,
}

impl FlowState for Connection {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        let at = self.grouped.place_of(&about.group);
        self.state.take_if(|(last, _)| *last != at);
        let open = || (at, Arc::clone(&self.grouped.databases[at]).open_flow(&self.flow));
        self.state.get_or_insert_with(open).1.open(about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Moment, Sources};
    use lockgate_model::{
        Buffer, Direction, Hit, PartId, Protocol, Security, Sink, Transaction, TransactionId,
    };

    #[derive(Default)]
    struct Found(Vec<String>);

    impl Sink for Found {
        fn hit(&mut self, hit: Hit) {
            self.0.push(hit.rule.to_string());
        }
    }

    fn banning(site: &str) -> Arc<Database> {
        let mut sources = Sources::new(Key(1, 2));
        sources.add("bannedsitelist", format!("# one\n{site}\n").as_bytes());
        Arc::new(sources.compile(Arc::new(|| Moment { weekday: 0, minute: 0 })).0)
    }

    fn asks(connection: &mut dyn FlowState, group: &str, host: &str) -> Vec<String> {
        let about = Transaction {
            id: TransactionId(1),
            direction: Direction::ToClient,
            group: group.to_owned(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        };
        let (mut scanner, mut found) = (connection.open(&about), Found::default());
        for (buffer, text) in [(Buffer::HttpHost, host), (Buffer::HttpUri, "/")] {
            scanner.push(PartId::ROOT, buffer, text.as_bytes(), &mut found);
            scanner.end(PartId::ROOT, buffer, &mut found);
        }
        found.0
    }

    #[test]
    fn thousands_of_groups_share_their_lists_and_each_is_judged_by_its_own() {
        let sets = [banning("a.example"), banning("b.example"), banning("c.example")];
        let mut grouped = Grouped::new(Arc::clone(&sets[0]));
        for number in 0..3000 {
            grouped = grouped.with(&format!("g{number}"), Arc::clone(&sets[number % 3]));
        }
        assert_eq!((grouped.databases.len(), grouped.of_group.len()), (3, 3000));
        let nobody = "192.0.2.1:1".parse().unwrap();
        let flow = Flow {
            id: 1,
            protocol: Protocol::Http,
            security: Security::Clear,
            client: nobody,
            server: nobody,
            listener: String::new(),
        };
        let mut connection = Arc::new(grouped).open_flow(&flow);
        for (group, banned) in [
            ("nobody's", "a.example"),
            ("g1", "b.example"),
            ("g2", "c.example"),
            ("g5", "c.example"),
            ("g1", "b.example"),
            ("g2999", "c.example"),
            ("g0", "a.example"),
        ] {
            for host in ["a.example", "b.example", "c.example"] {
                let expected: &[&str] = if host == banned { &["bannedsitelist:2"] } else { &[] };
                assert_eq!(asks(&mut *connection, group, host), expected, "{group} {host}");
            }
        }
    }
}
