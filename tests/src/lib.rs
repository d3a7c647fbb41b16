//! The harness of the end-to-end tests: starts the gateway and real peers, each in a directory of its own.
