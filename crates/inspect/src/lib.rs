//! The waist: session, layers, panel, policy, hold.
