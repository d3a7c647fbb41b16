//! What a filter holds back. Rule: the filters themselves are tested where another library packs with them.

use super::{Filter, Filtering};

#[test]
fn what_is_not_final_waits_for_more() {
    let mut filtering = Filtering::new(Filter::x86(0));
    let mut output = [0; 16];
    filtering.room()[..3].copy_from_slice(b"\x90\xe8\x0a");
    filtering.filled(3);
    assert_eq!(filtering.take(&mut output), 0, "less than an instruction");
    filtering.room()[..4].copy_from_slice(b"\0\0\0\x90");
    filtering.filled(4);
    assert_eq!(filtering.take(&mut output), 6);
    assert_eq!(output[..6], *b"\x90\xe8\x04\0\0\0", "a call to 10 from 6 is one over 4 bytes");
    filtering.finish();
    assert_eq!(filtering.take(&mut output), 1);
    assert!(filtering.is_spent() && filtering.is_finished());
}
