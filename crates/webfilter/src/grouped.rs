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
    of_group: HashMap<String, usize>,
}

impl Grouped {
    /// One set of lists for everybody.
    pub fn new(for_everybody: Arc<Database>) -> Self {
        Self { databases: vec![for_everybody], of_group: HashMap::new() }
    }

    /// Another one for a group. Groups with the same lists share the database.
    #[must_use]
    pub fn with(mut self, group: &str, database: Arc<Database>) -> Self {
        let known = self.databases.iter().position(|known| Arc::ptr_eq(known, &database));
        let at = known.unwrap_or(self.databases.len());
        if known.is_none() {
            self.databases.push(database);
        }
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
        let states = self.databases.iter().map(|_| None).collect();
        Box::new(Connection { flow: flow.clone(), states, grouped: self })
    }
}

/// One connection. Nearly always all its transactions are one group's, so that only that one's state is made.
struct Connection {
    grouped: Arc<Grouped>,
    flow: Flow,
    states: Vec<Option<Box<dyn FlowState>>>,
}

impl FlowState for Connection {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        let at = self.grouped.place_of(&about.group);
        let open = || Arc::clone(&self.grouped.databases[at]).open_flow(&self.flow);
        self.states[at].get_or_insert_with(open).open(about)
    }
}
